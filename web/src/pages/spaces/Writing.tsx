import { lazy, Suspense, useRef, type ChangeEvent } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { ImagePlus, Plus } from 'lucide-react';
import { BLOCKS } from '../../editor/completions';
import type { PageEditorHandle } from '../../editor/PageEditor';
import { Markdown } from '../../markdown/Markdown';
import { isImage, shrunk } from '../../chat/images';
import { onyx } from '../../store/client';
import { storeBlob } from '../../store/pictures';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Menu } from '../../ui/Menu';
import { forgetTargets, targetsOf } from './links';
import { targetNamed } from './linkTargets';

const PageEditor = lazy(() => import('../../editor/PageEditor'));

/** The editor of a page. Until the editor is loaded, the page is shown for reading. */
export function Writing({
  space,
  text,
  own,
  onChange,
  onOpen,
}: {
  space: string;
  text: string;
  /** True while this text has unsaved changes. */
  own: boolean;
  onChange: (text: string) => void;
  onOpen: (title: string) => void;
}) {
  const handle = useRef<PageEditorHandle>(null);
  const picker = useRef<HTMLInputElement>(null);
  const pick = () => picker.current?.click();
  const picked = ({ currentTarget }: ChangeEvent<HTMLInputElement>) => {
    handle.current?.insertFiles([...(currentTarget.files ?? [])]);
    currentTarget.value = '';
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex items-center gap-1 border-b border-line pb-1">
        <Menu
          label="Insert"
          className="btn"
          entries={BLOCKS.map((block) => ({
            label: block.label,
            detail: block.detail,
            run: () => handle.current?.insert(block),
          }))}
        >
          <Plus size={15} aria-hidden />
          <span>Insert</span>
        </Menu>
        <button type="button" className="icon-btn" aria-label="Add a picture" title="Add a picture" onClick={pick}>
          <ImagePlus size={16} aria-hidden />
        </button>
        <input ref={picker} type="file" accept="image/*" multiple hidden aria-label="Pictures" onChange={picked} />
      </div>
      <Suspense fallback={<Markdown text={text} />}>
        <PageEditor
          handle={handle}
          label="Text"
          text={text}
          own={own}
          onChange={onChange}
          pages={() => targetsOf(space)}
          onOpen={onOpen}
          keepPicture={keepPicture}
          pickPicture={pick}
        />
      </Suspense>
    </div>
  );
}

/** Saves a picture in the person's files and returns its markdown. */
async function keepPicture(file: File): Promise<string | undefined> {
  if (!isImage(file)) {
    toast(`${file.name} was not added: a page shows PNG, JPEG, GIF and WebP pictures.`, { tone: 'danger' });
    return undefined;
  }
  const path = await attempt(`${file.name} was not added`, async () => storeBlob(nameOf(file), await shrunk(file)));
  const words = file.name.replace(/\.\w+$/, '').replace(/[[\]]/g, '');
  return path && `![${words}](${path})`;
}

/** A name for the file. Pictures from the clipboard all have the same name, so they get the date. */
const nameOf = (file: File) =>
  file.name === 'image.png' ? `picture-${new Date().toISOString().slice(0, 10)}.png` : file.name;

/** Follows a link to a page, or offers to create a missing page. */
export function useOpenLink(space: string): (title: string) => Promise<void> {
  const navigate = useNavigate();
  const show = (place: string, entity: string) =>
    navigate({ to: '/spaces/$space/$place/$entity', params: { space, place, entity } });
  const make = async (title: string) => {
    const made = await attempt('The page was not created', () => onyx.spaces.add(space, 'pages', { title }));
    forgetTargets(space);
    if (made) await show('pages', made.id);
  };
  return async (title) => {
    const targets = await attempt('The link cannot be followed', () => targetsOf(space));
    const target = targets && targetNamed(targets, title);
    if (target) return show(target.place, target.id);
    if (targets)
      toast(`There is no page “${title}” yet.`, { action: { label: 'Create it', run: () => void make(title) } });
  };
}
