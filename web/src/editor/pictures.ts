// Pictures of a page are files of the vault. Only those are shown: loading a remote one would reveal that it was read.

import { WidgetType } from '@codemirror/view';
import { pictureUrl } from '../store/pictures';
import { isInlineImage, isOwnPicture } from '../markdown/links';

const IMAGE = /^!\[([^\]]*)\]\(\s*<?([^\s)>]+)>?[^)]*\)$/;

class Picture extends WidgetType {
  constructor(
    readonly path: string,
    readonly words: string,
  ) {
    super();
  }
  override eq(other: Picture) {
    return other.path === this.path && other.words === this.words;
  }
  toDOM() {
    const image = document.createElement('img');
    image.alt = this.words || 'Picture';
    image.className = 'cm-picture';
    if (isInlineImage(this.path)) image.src = this.path;
    else
      pictureUrl(this.path).then(
        (url) => (image.src = url),
        () => (image.alt = `${this.words || this.path} (not found)`),
      );
    return image;
  }
}

/** The picture that this markdown shows, if it is one of the person's files. */
export function picture(source: string): WidgetType | undefined {
  const [, words = '', path = ''] = IMAGE.exec(source) ?? [];
  return isOwnPicture(path) || isInlineImage(path) ? new Picture(path, words) : undefined;
}
