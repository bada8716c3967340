import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));

/** A page of the documentation. */
export interface Page {
  /** Its path in `docs/`. */
  readonly path: string;
  readonly text: string;
}

/** Every page of the documentation. */
export function pages(): readonly Page[] {
  return readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.startsWith('.'))
    .sort()
    .map((path) => ({ path, text: readFileSync(`${DOCS}${path}`, 'utf8') }));
}

/** A fenced block of a page. */
export interface Block {
  /** The first word after the fence: `sh`, `yaml`; empty if there is none. */
  readonly language: string;
  /** The text in brackets after it: `[agent.js]`; empty if there is none. */
  readonly title: string;
  readonly text: string;
}

/** The fenced blocks of a page, in order. */
export function blocksOf(text: string): readonly Block[] {
  return [...text.matchAll(/^```(?<language>\S*)(?: \[(?<title>[^\]]*)\])?\n(?<text>.*?)^```$/gms)].map(
    ({ groups }) => ({
      language: groups?.['language'] ?? '',
      title: groups?.['title'] ?? '',
      text: groups?.['text'] ?? '',
    }),
  );
}

/** A page without its fenced blocks. */
export function withoutBlocks(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, '');
}

/** A page without code and comments, to search for links. */
export function proseOf(text: string): string {
  return withoutBlocks(text)
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(/`[^`\n]*`/g, '');
}
