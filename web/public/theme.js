// Sets the theme before the first paint, so that the other theme is never visible.
(() => {
  let choice = 'system';
  try {
    choice = JSON.parse(localStorage.getItem('onyx.preferences') ?? '{}').theme ?? 'system';
  } catch {
    // An invalid entry counts as none.
  }
  const dark = choice === 'dark' || (choice === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
