import { useNavigate } from '@tanstack/react-router';
import { Zap } from 'lucide-react';
import type { Action } from '@onyx/sdk';
import { chooseAction, useActions } from '../../store/registry';
import { Menu } from '../../ui/Menu';

/** The number of actions shown as chips where there is room; the menu has all of them. */
const SHOWN = 2;

/** The person's actions beside the composer, run in this chat. The selected or typed text is their input. */
export function ActionChips({ sessionId, text, onTaken }: { sessionId?: string; text: string; onTaken: () => void }) {
  const { actions } = useActions();
  const navigate = useNavigate();
  const able = actions.filter((action) => !action.error);
  if (able.length === 0) return null;
  const choose = (action: Action) => {
    const marked = getSelection()?.toString().trim();
    const written = text.trim();
    void chooseAction(action, {
      sessionId,
      selection: marked || written || undefined,
      onStarted: (id) => {
        if (!marked && written) onTaken();
        if (!sessionId && location.pathname === '/chat') void navigate({ to: '/chat/$id', params: { id } });
      },
    });
  };
  const detail = (action: Action) => (action.requiresConfirmation ? 'Asks before it runs' : undefined);
  return (
    <>
      {able.slice(0, SHOWN).map((action) => (
        <button
          key={action.id}
          type="button"
          className="chip max-lg:hidden max-w-36"
          title={`Run ${action.label}`}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => choose(action)}
        >
          <span className="truncate">{action.label}</span>
        </button>
      ))}
      <Menu
        label="Actions"
        className={`icon-btn ${able.length <= SHOWN ? 'lg:hidden' : ''}`}
        side="above"
        entries={able.map((action) => ({ label: action.label, detail: detail(action), run: () => choose(action) }))}
      >
        <Zap size={16} aria-hidden />
      </Menu>
    </>
  );
}
