import { attempt } from '../ui/act';
import { saveBlob } from '../ui/download';
import { readBlob } from '../store/pictures';
import { FileView } from './FileView';
import { Panel } from './Panel';

/** One of the person's files, shown beside the conversation. */
export default function FilePanel({ path, onClose }: { path: string; onClose: () => void }) {
  const name = path.split('/').pop() ?? path;
  const download = async () => {
    const blob = await attempt(`${name} was not downloaded`, () => readBlob(path));
    if (blob) saveBlob(name, blob);
  };
  return (
    <Panel name={name} onDownload={() => void download()} onClose={onClose}>
      <div className="min-h-0 flex-1 overflow-auto p-4" tabIndex={0} role="region" aria-label={name}>
        <FileView path={path} />
      </div>
    </Panel>
  );
}
