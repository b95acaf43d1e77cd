import { FileButton } from '../ui/FileButton';
import { ActionChips } from '../pages/actions/Chips';
import { AgentMenu, ModelMenu, type AgentMenuProps } from './ComposerMenus';
import type { WrittenMessage } from './useWrittenMessage';

interface ComposerToolsProps {
  message: WrittenMessage;
  sessionId?: string;
  agentMenu: AgentMenuProps;
}

/** What only the composer of a chat has: who answers with which model, files, and actions. */
export function ComposerTools({ message, sessionId, agentMenu }: ComposerToolsProps) {
  const { text, setText, model, setModel, attachments } = message;
  return (
    <>
      <AgentMenu {...agentMenu} />
      <ModelMenu own={agentMenu.chosen?.model ?? undefined} chosen={model} onModel={setModel} />
      <FileButton
        label="Attach files"
        title="Attach images and texts"
        className="-ml-1"
        onFiles={(files) => void attachments.add(files)}
      />
      <ActionChips sessionId={sessionId} text={text} onTaken={() => setText('')} />
    </>
  );
}
