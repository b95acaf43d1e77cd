import { create } from 'zustand';
import { writeStored, readStored } from './browserStorage';

export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  /** How a message reaches an active run. */
  delivery: 'steer' | 'follow_up';
  notify: boolean;
  sendWith: 'enter' | 'mod-enter';
}

const KEY = 'onyx.preferences';

export const usePreferences = create<Preferences>(() => ({
  theme: 'system',
  delivery: 'steer',
  notify: false,
  sendWith: 'enter',
  ...readStored<Partial<Preferences>>(KEY, {}),
}));

usePreferences.subscribe((preferences) => {
  writeStored(KEY, preferences);
  applyTheme();
});

const darkSystem = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : undefined;
darkSystem?.addEventListener('change', applyTheme);

export function isDark(): boolean {
  const { theme } = usePreferences.getState();
  return theme === 'dark' || (theme === 'system' && (darkSystem?.matches ?? false));
}

function applyTheme(): void {
  document.documentElement.dataset['theme'] = isDark() ? 'dark' : 'light';
}
