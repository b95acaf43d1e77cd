import { Command } from 'cmdk';
import { useNavigate } from '@tanstack/react-router';
import { Zap } from 'lucide-react';
import type { ReactNode } from 'react';
import { chooseAction, useActions } from '../../store/registry';

/** The person's actions in the command palette; each opens the chat that it runs in. */
export function PaletteActions({
  heading,
  className,
  onClose,
}: {
  heading: ReactNode;
  className: string;
  onClose: () => void;
}) {
  const { actions } = useActions();
  const navigate = useNavigate();
  const able = actions.filter((action) => !action.error);
  if (able.length === 0) return null;
  return (
    <Command.Group heading={heading}>
      {able.map((action) => (
        <Command.Item
          key={action.id}
          value={`Run ${action.label} ${action.id}`}
          className={className}
          onSelect={() => {
            onClose();
            void chooseAction(action, { onStarted: (id) => void navigate({ to: '/chat/$id', params: { id } }) });
          }}
        >
          <span className="text-dim" aria-hidden>
            <Zap size={16} />
          </span>
          <span className="truncate">{`Run ${action.label}`}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}
