import { useEffect, useState } from 'react';
import { toast } from '../store/state';
import { attempt } from '../ui/act';
import { readFiles, store, type AttachedFile } from './attachments';
import { isImage, readImages, type Picture } from './images';

export type Attachments = ReturnType<typeof useAttachments>;

/** The pictures and files of a message that is being written; `given` are attached at its beginning. */
export function useAttachments(given?: File[]) {
  const [pictures, setPictures] = useState<Picture[]>([]);
  const [files, setFiles] = useState<AttachedFile[]>([]);
  const [storing, setStoring] = useState(false);
  const add = async (added: Iterable<File>) => {
    const all = [...added];
    const images = await readImages(all.filter(isImage));
    const others = await readFiles(all.filter((file) => !isImage(file)));
    setPictures((known) => [...known, ...images]);
    setFiles((known) => [...known, ...others.files]);
    for (const why of others.refused) toast(why, { tone: 'danger' });
  };
  useEffect(() => {
    if (given) void add(given);
  }, [given]);
  return {
    pictures,
    files,
    storing,
    empty: pictures.length + files.length === 0,
    add,
    removePicture: (index: number) => setPictures(pictures.filter((_, at) => at !== index)),
    removeFile: (index: number) => setFiles(files.filter((_, at) => at !== index)),
    clear: () => {
      setPictures([]);
      setFiles([]);
    },
    /** Stores the files and returns all attachments as parts of the message; `undefined` if they were not stored. */
    stored: async () => {
      setStoring(true);
      const stored = files.length === 0 ? [] : await attempt('The files were not attached', () => store(files));
      setStoring(false);
      const images = pictures.map(({ mediaType, data }) => ({ type: 'image' as const, mediaType, data }));
      return stored && [...images, ...stored];
    },
  };
}
