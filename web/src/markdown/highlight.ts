import {
  createCssVariablesTheme,
  createHighlighterCore,
  type HighlighterCore,
  type LanguageRegistration,
  type ThemedToken,
} from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';

const GRAMMARS: Record<string, () => Promise<{ default: LanguageRegistration[] }>> = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  docker: () => import('shiki/langs/docker.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  jsonc: () => import('shiki/langs/jsonc.mjs'),
  kotlin: () => import('shiki/langs/kotlin.mjs'),
  lua: () => import('shiki/langs/lua.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  nix: () => import('shiki/langs/nix.mjs'),
  php: () => import('shiki/langs/php.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  ruby: () => import('shiki/langs/ruby.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  swift: () => import('shiki/langs/swift.mjs'),
  terraform: () => import('shiki/langs/terraform.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  xml: () => import('shiki/langs/xml.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
};

const ALIASES: Record<string, string> = {
  'c++': 'cpp',
  console: 'bash',
  dockerfile: 'docker',
  hcl: 'terraform',
  js: 'javascript',
  json5: 'jsonc',
  jsx: 'tsx',
  kt: 'kotlin',
  md: 'markdown',
  patch: 'diff',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  tf: 'terraform',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
};

// Colours are CSS variables of the page, so that both themes share one result.
const theme = createCssVariablesTheme({ name: 'onyx', variablePrefix: '--code-' });
let highlighter: Promise<HighlighterCore> | undefined;

/** The code as highlighted lines; `undefined` for an unknown language. */
export async function highlight(code: string, name: string): Promise<ThemedToken[][] | undefined> {
  const language = ALIASES[name] ?? name;
  const grammar = GRAMMARS[language];
  if (!grammar) return undefined;
  highlighter ??= createHighlighterCore({
    themes: [theme],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const ready = await highlighter;
  if (!ready.getLoadedLanguages().includes(language)) await ready.loadLanguage(grammar());
  return ready.codeToTokensBase(code, { lang: language, theme: 'onyx' });
}
