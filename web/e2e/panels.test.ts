// Content of an answer opens beside it: HTML that runs but reaches nothing, all kinds of diagrams, pictures and PDFs.

import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { clearsAfterEach, composer, finished, log, open, say, share, WIDTHS } from './play';
import type { Visit } from './stage';

clearsAfterEach();

/** The errors except those for taken file names, which are found by trying and which browsers log. */
const wrongs = (page: Visit) => page.wrongs.filter((wrong) => !wrong.includes('412'));
const panel = (page: Page) => page.getByRole('dialog');
const fenced = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\`\n`;

interface Listener {
  url: string;
  /** The number of connections, which the page's own requests do not show. */
  connections: () => number;
  /** The number of requests. */
  asked: () => number;
  end: () => void;
}

async function listener(): Promise<Listener> {
  let [connections, asked] = [0, 0];
  const server = createServer((socket) => {
    connections += 1;
    socket.once('data', () => (asked += 1));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    asked: () => asked,
    end: () => server.close(),
  };
}

const REACHING = (to: string) => `<!doctype html>
<link rel="stylesheet" href="${to}/style.css"><link rel="prefetch" href="${to}/prefetch"><img src="${to}/image.png">
<iframe src="${to}/frame"></iframe><object data="${to}/object"></object><video src="${to}/video"></video>
<form action="${to}/form"><input name="a"></form>
<h1 id="title">Counter</h1><button onclick="this.textContent = Number(this.textContent) + 1">0</button>
<p id="said">nothing</p>
<script src="${to}/script.js"></script>
<script>
const tries = {
  fetch: () => fetch('${to}/fetch'),
  app: () => fetch('/api/spaces'),
  beacon: async () => { navigator.sendBeacon('${to}/beacon'); throw new Error('said to nobody'); },
  socket: () => new Promise((resolve, reject) => { const s = new WebSocket('${to}'.replace('http', 'ws')); s.onopen = resolve; s.onerror = () => reject(new Error('refused')) }),
  events: () => new Promise((resolve, reject) => { const s = new EventSource('${to}/events'); s.onopen = resolve; s.onerror = () => reject(new Error('refused')) }),
  picture: () => new Promise((resolve, reject) => { const i = new Image(); i.onload = resolve; i.onerror = () => reject(new Error('refused')); i.src = '${to}/picture' }),
  storage: async () => localStorage.getItem('onyx.token'),
  cookie: async () => { if (document.cookie === '') throw new Error('none'); },
  parent: async () => parent.document.body,
  worker: () => new Promise((resolve, reject) => { const w = new Worker(URL.createObjectURL(new Blob(['postMessage(1)']))); w.onmessage = resolve; w.onerror = () => reject(new Error('refused')); }),
};
(async () => {
  const got = [];
  for (const [name, attempt] of Object.entries(tries)) {
    try { await attempt(); got.push(name); } catch { /* As it should be. */ }
  }
  document.getElementById('said').textContent = 'Reached: ' + (got.join(', ') || 'nothing');
  setTimeout(() => document.forms[0].submit(), 100);
  setTimeout(() => open('${to}/popup'), 200);
  setTimeout(() => { top.location = '${to}/top'; }, 300);
  // The page is gone after this, so it waits for the test.
  addEventListener('leave', () => setTimeout(() => { location = '${to}/self'; }, 1000));
})();
</script>`;

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('HTML runs beside the answer and reaches no network, no storage and not the app', async () => {
    const outside = await listener();
    const at = await share([{ text: fenced('html', REACHING(outside.url)) }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'a counter');
    await finished(page);
    await log(page).getByRole('button', { name: 'Open in a panel' }).press('Enter');
    const frame = page.frameLocator('iframe[title=Preview]');
    // In the preview nothing runs; after pressing Run, the script counts.
    await frame.getByRole('button', { name: '0' }).click();
    await frame.getByText('nothing', { exact: true }).waitFor();
    await page.waitForTimeout(500);
    expect(outside.connections()).toBe(0);
    await panel(page).getByRole('button', { name: 'Run scripts' }).press('Enter');
    await frame.getByText(/^Reached: /).waitFor();
    await frame.getByRole('button', { name: '0' }).click();
    await frame.getByRole('button', { name: '1' }).waitFor();
    expect(await frame.getByText(/^Reached: /).innerText()).toBe('Reached: nothing');
    await frame.locator('body').evaluate(() => dispatchEvent(new Event('leave')));
    // The last attempt is a navigation of the frame. No event reports that it was blocked.
    await page.waitForTimeout(2_000);
    expect(outside.asked()).toBe(0);
    expect(new URL(page.url()).pathname).toMatch(/^\/chat\//);
    expect(page.context().pages()).toHaveLength(1);
    await panel(page).getByRole('radio', { name: 'Code' }).click();
    await panel(page).locator('figure.code').waitFor();
    const file = page.waitForEvent('download');
    await panel(page).getByRole('button', { name: 'Download' }).press('Enter');
    expect((await file).suggestedFilename()).toBe('artifact.html');
    await page.keyboard.press('Escape');
    await panel(page).waitFor({ state: 'detached' });
    outside.end();
  });

  test('diagrams of every kind are drawn as pictures, and a broken one says why', async () => {
    const kinds = [
      'graph TD; A-->B;',
      'sequenceDiagram\n  Anna->>Ben: Hello',
      'pie title Wood\n  "Oak" : 60\n  "Larch" : 40',
      'gantt\n  dateFormat YYYY-MM-DD\n  section Floor\n  Saw :a1, 2026-11-01, 3d',
      'mindmap\n  root((House))\n    Floor\n    Roof',
      'gitGraph\n  commit\n  branch dev\n  commit',
      'timeline\n  title Build\n  2025 : Plan\n  2026 : Move in',
    ];
    const at = await share([
      { text: [...kinds, 'no diagram at all'].map((code) => fenced('mermaid', code)).join('\n') },
    ]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'draw');
    await finished(page);
    for (const code of kinds) {
      const picture = log(page).getByAltText(`Diagram: ${code}`.slice(0, 40), { exact: false }).first();
      await picture.scrollIntoViewIfNeeded();
      await expect
        .poll(() => picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth > 20), {
          timeout: 60_000,
        })
        .toBe(true);
    }
    await log(page).getByText('This diagram cannot be drawn').waitFor();
    expect(wrongs(page)).toEqual([]);
  });

  test('a PDF goes along with a message, opens beside it and is downloaded', async () => {
    const at = await share([{ text: 'Read.' }]);
    const page = await open(at, '/chat', { viewport });
    const picking = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: /Attach/ }).click();
    await (await picking).setFiles({ name: 'offer.pdf', mimeType: 'application/pdf', buffer: pdf('Larch, 40 euros') });
    await composer(page).focus();
    await page.keyboard.type('what does it say');
    await page.getByRole('button', { name: 'Send' }).click();
    await finished(page);
    await log(page)
      .getByRole('button', { name: /^offer.*\.pdf$/ })
      .press('Enter');
    await panel(page).getByRole('figure', { name: 'Page 1' }).getByText('Larch, 40 euros').waitFor();
    const file = page.waitForEvent('download');
    await panel(page).getByRole('button', { name: 'Download' }).press('Enter');
    expect((await file).suggestedFilename()).toMatch(/^offer.*\.pdf$/);
    expect(await brokenAnywhere(page, 'PDF')).toEqual([]);
    expect(wrongs(page)).toEqual([]);
  });
});

/** The smallest PDF with some text. */
function pdf(words: string): Buffer {
  const content = `BT /F1 18 Tf 20 60 Td (${words}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 120] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let file = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const place = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const start = file.length;
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`;
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(file);
}
