import { useStore } from '../store/state';

/** Says of something that is shown or set that it does nothing yet; nothing once the server has built it. */
export function NotYet({ id }: { id: string }) {
  const sentence = useNotYet(id);
  return sentence ? (
    <span className="block text-meta text-warn" data-not-yet={id}>
      {sentence}
    </span>
  ) : null;
}

/** The server's own sentence, if this does nothing yet. */
export const useNotYet = (id: string): string | undefined =>
  useStore((state) => state.status?.notYet?.find((row) => row.id === id)?.sentence);
