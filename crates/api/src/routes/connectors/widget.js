// The chat of an Onyx agent on your page:
// <script src="https://your.onyx/widget/ACCOUNT/widget.js" data-title="Ask us" defer></script>
// It stands in a shadow tree, so that neither its style nor the page's touches the other, and it
// writes only text: nothing that is said becomes markup. It sets no cookie; what was said stays in
// this browser under one key of its storage.
(() => {
  const script = document.currentScript;
  if (!script) return;
  const base = script.src.replace(/\/widget\.js.*$/, '');
  const title = script.dataset.title || 'Chat';
  const key = `onyx-widget ${base}`;
  const most = 200;

  const load = () => {
    try {
      return JSON.parse(localStorage.getItem(key)) || {};
    } catch {
      return {};
    }
  };
  const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const known = load();
  const state = { secret: known.secret || fresh(), after: known.after || 0, said: known.said || [] };
  const save = () => {
    state.said = state.said.slice(-most);
    try {
      localStorage.setItem(key, JSON.stringify(state));
    } catch {
      // The browser stores nothing, so the conversation ends with the page.
    }
  };

  const ask = (path, options = {}) =>
    fetch(`${base}/messages${path}`, {
      ...options,
      credentials: 'omit',
      headers: { 'x-onyx-visitor': state.secret, ...(options.body ? { 'content-type': 'application/json' } : {}) },
    });

  const host = document.createElement('div');
  const root = host.attachShadow({ mode: 'closed' });
  const style = document.createElement('style');
  style.textContent = `
    :host { all: initial; position: fixed; right: 20px; bottom: 20px; z-index: 2147483000; font: 15px/1.45 system-ui, sans-serif; }
    button { font: inherit; cursor: pointer; border: 0; }
    .open { border-radius: 999px; padding: 12px 18px; background: #1f2430; color: #fff; box-shadow: 0 4px 16px #0003; }
    .box { width: min(360px, calc(100vw - 40px)); height: min(520px, calc(100vh - 100px)); display: flex; flex-direction: column;
      background: #fff; color: #1f2430; border-radius: 14px; box-shadow: 0 8px 32px #0004; overflow: hidden; margin-bottom: 12px; }
    .box[hidden] { display: none; }
    header { padding: 12px 16px; font-weight: 600; border-bottom: 1px solid #e6e8ee; }
    .said { flex: 1; overflow-y: auto; padding: 12px 16px; display: flex; flex-direction: column; gap: 8px; }
    .said p { margin: 0; padding: 8px 12px; border-radius: 12px; white-space: pre-wrap; overflow-wrap: anywhere; background: #f1f3f7; max-width: 85%; }
    .said p.mine { align-self: flex-end; background: #1f2430; color: #fff; }
    .said p.note { background: none; color: #6b7280; font-size: 13px; }
    form { display: flex; gap: 8px; padding: 10px; border-top: 1px solid #e6e8ee; }
    textarea { flex: 1; font: inherit; resize: none; border: 1px solid #cdd2dc; border-radius: 10px; padding: 8px 10px; color: inherit; background: #fff; }
    form button { background: #1f2430; color: #fff; border-radius: 10px; padding: 0 14px; }
    :focus-visible { outline: 2px solid #3b82f6; outline-offset: 2px; }`;
  const make = (tag, properties = {}, children = []) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const list = make('div', { className: 'said' });
  list.setAttribute('role', 'log');
  list.setAttribute('aria-live', 'polite');
  const input = make('textarea', { rows: 2, maxLength: 4000, placeholder: 'Write a message' });
  input.setAttribute('aria-label', 'Message');
  const form = make('form', {}, [input, make('button', { textContent: 'Send' })]);
  const box = make('section', { className: 'box', hidden: true }, [make('header', { textContent: title }), list, form]);
  box.setAttribute('aria-label', title);
  const opener = make('button', { className: 'open', textContent: title, type: 'button' });
  opener.setAttribute('aria-expanded', 'false');
  root.append(style, box, opener);

  const show = (text, kind) => {
    const line = make('p', { className: kind, textContent: text });
    list.append(line);
    list.scrollTop = list.scrollHeight;
    return line;
  };
  const keep = (text, kind) => {
    state.said.push([text, kind]);
    save();
    return show(text, kind);
  };
  for (const [text, kind] of state.said) show(text, kind);

  let typing;
  const settle = () => {
    typing?.remove();
    typing = undefined;
  };
  let listening = false;
  const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  const listen = async () => {
    if (listening) return;
    listening = true;
    let pause = 1000;
    while (!box.hidden) {
      try {
        const answer = await ask(`?after=${state.after}`);
        if (!answer.ok) throw new Error(String(answer.status));
        const { messages } = await answer.json();
        for (const message of messages) {
          state.after = Math.max(state.after, message.id);
          settle();
          keep(message.text, 'theirs');
        }
        pause = 1000;
        await wait(messages.length ? 0 : 300);
      } catch {
        await wait(pause);
        pause = Math.min(pause * 2, 30000);
      }
    }
    listening = false;
  };
  const send = async (text) => {
    const body = JSON.stringify({ id: fresh().slice(0, 32), text });
    // Each attempt sends the same id, so that a message whose answer was lost is not added twice.
    for (let attempt = 0; attempt < 4; attempt += 1) {
      try {
        const answer = await ask('', { method: 'POST', body });
        if (answer.ok) return undefined;
        if (answer.status === 429) return 'That was a lot at once. Wait a minute, then write again.';
        if (answer.status < 500) return 'This message could not be sent.';
      } catch {
        // The server was not reached, so the next attempt follows.
      }
      await wait(1000 * 2 ** attempt);
    }
    return 'The chat cannot be reached at the moment.';
  };
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) return;
    input.value = '';
    keep(text, 'mine');
    settle();
    typing = show('…', 'note');
    const trouble = await send(text);
    if (!trouble) return;
    settle();
    keep(trouble, 'note');
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  opener.addEventListener('click', () => {
    box.hidden = !box.hidden;
    opener.setAttribute('aria-expanded', String(!box.hidden));
    if (box.hidden) return;
    input.focus();
    void listen();
  });
  save();
  document.body.append(host);
})();
