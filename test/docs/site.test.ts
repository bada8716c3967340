import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { DefaultTheme } from 'vitepress';
import { describe, expect, it } from 'vitest';

import { headingAnchor } from '../../docs/.vitepress/headingAnchor.ts';
import { SIDEBAR } from '../../docs/.vitepress/sidebar.ts';
import { blocksOf, pages, proseOf, withoutBlocks } from './pages.ts';

const PAGES = pages();
/** The repository's files and folders in inline code. */
const FILES = /`((?:src|test|docs|bench|scripts|examples|templates|docker|ci)\/[\w./-]+)`/g;
const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));
const PATHS = new Set(PAGES.map(({ path }) => path));

describe('the site', () => {
  it('has exactly the pages in the sidebar', () => {
    const links = SIDEBAR.flatMap(linksOf).map((link) => `${link.slice(1)}.md`);
    expect([...links].sort()).toEqual([...PATHS].filter((path) => path !== 'index.md').sort());
  });

  it.each(PAGES)('links in $path only to existing pages, headings and pictures', ({ path, text }) => {
    const missing = relativeLinks(text).filter((link) => {
      const [file = '', anchor] = link.split('#');
      const there = file === '' ? path : posix.join(posix.dirname(path), file);
      if (/\.(?:svg|webp)$/.test(there)) return !existsSync(join(DOCS, there));
      const page = PAGES.find((candidate) => candidate.path === there);
      return page === undefined || (anchor !== undefined && !anchorsOf(page.text).includes(anchor));
    });
    expect(missing).toEqual([]);
  });

  it.each(PAGES)('names in $path only existing files of the repository', ({ text }) => {
    const named = [...withoutBlocks(text).matchAll(FILES)].map(([, file = '']) => file);
    expect(named.filter((file) => !existsSync(new URL(`../../${file}`, import.meta.url)))).toEqual([]);
  });

  it('shows on the first page the output of the tutorial, which a test runs', () => {
    const [first, tutorial] = ['index.md', 'tutorial.md'].map((path) =>
      blocksOf(PAGES.find((page) => page.path === path)?.text ?? ''),
    );
    expect(first).toHaveLength(1);
    expect(tutorial).toEqual(expect.arrayContaining([...(first ?? [])]));
  });
});

function linksOf({ link, items = [] }: DefaultTheme.SidebarItem): readonly string[] {
  return [...(link === undefined ? [] : [link]), ...items.flatMap(linksOf)];
}

/** Links to other pages, as `[text](page.md#heading)`. */
function relativeLinks(text: string): readonly string[] {
  return [...proseOf(text).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
}

function anchorsOf(text: string): readonly string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => headingAnchor(heading));
}
