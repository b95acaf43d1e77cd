// Before the first paint, so that nobody sees a flash of the other theme.
(() => {
  let choice = 'system';
  try {
    choice = JSON.parse(localStorage.getItem('onyx.preferences') ?? '{}').theme ?? 'system';
  } catch {
    // A broken entry is as good as none.
  }
  const dark = choice === 'dark' || (choice === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
