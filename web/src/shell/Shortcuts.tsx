import { Modal } from '../ui/Modal';

const SHEET: [string, string[]][] = [
  ['Search or command', ['⌘ K', 'Ctrl K']],
  ['New chat', ['N']],
  ['Inbox', ['I']],
  ['Spaces', ['S']],
  ['Memory', ['M']],
  ['Settings', [',']],
  ['Go to the composer', ['/']],
  ['Send', ['Enter']],
  ['New line', ['Shift Enter']],
  ['Stop the answer', ['Esc Esc']],
  ['Find in this chat', ['⌘ F', 'Ctrl F']],
  ['Next and previous draft', ['J', 'K']],
  ['Approve or reject a draft', ['A', 'R']],
  ['Move a task', ['Shift ←', 'Shift →']],
  ['Pin the editor’s output', ['P']],
  ['Save a file', ['⌘ S', 'Ctrl S']],
  ['Show shortcuts', ['?']],
];

export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Modal label="Keyboard shortcuts" onClose={onClose} className="max-w-115">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">Keyboard shortcuts</h2>
        <dl className="grid grid-cols-[1fr_auto] gap-y-2 text-[14px]">
          {SHEET.map(([what, keys]) => (
            <div key={what} className="contents">
              <dt>{what}</dt>
              <dd className="flex justify-end gap-1.5">
                {keys.map((key) => (
                  <kbd key={key} className="kbd">
                    {key}
                  </kbd>
                ))}
              </dd>
            </div>
          ))}
        </dl>
        <div className="mt-4 text-right">
          <button type="button" className="btn" data-first-focus onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Modal>
  );
}
