import { useNavigate } from '@tanstack/react-router';
import { Zap } from 'lucide-react';
import { chooseAction, useActions } from '../../store/registry';

const MOST = 4;

/** The person's actions, suggested in an empty chat. */
export function Suggestions() {
  const { actions } = useActions();
  const navigate = useNavigate();
  const able = actions.filter((action) => !action.error && !action.asksForSelection).slice(0, MOST);
  if (able.length === 0) return null;
  return (
    <ul className="mt-6 flex w-full max-w-120 flex-wrap justify-center gap-2" aria-label="Suggestions">
      {able.map((action) => (
        <li key={action.id} className="min-w-0">
          <button
            type="button"
            className="btn max-w-full"
            onClick={() =>
              void chooseAction(action, { onStarted: (id) => void navigate({ to: '/chat/$id', params: { id } }) })
            }
          >
            <Zap size={14} className="shrink-0 text-dim" aria-hidden />
            <span className="truncate">{action.label}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
