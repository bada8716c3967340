import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';

import { defineConfig } from 'vitepress';

import { headingAnchor } from './headingAnchor.ts';
import { SIDEBAR } from './sidebar.ts';

/** What editors and programs read: published beside the pages that tell of it. */
const SCHEMAS = ['slipway.schema.json', 'json-events.schema.json'];

/** Pages of one wide table: they take the room of the outline, which they have no use for. */
const WIDE = ['exit-codes.md', 'crash-matrix.md'];

/**
 * The documentation as a site: `npm run docs` serves it while it is written, `npm run docs:build` makes it, and fails on
 * a link that leads nowhere. Everything that it shows is in it: no fonts, scripts or searches from elsewhere.
 */
export default defineConfig({
  lang: 'en',
  title: 'Slipway',
  description: 'Releases agents, and rolls them back. A durable release pipeline on Temporal.',
  cleanUrls: true,
  head: [
    ['link', { rel: 'icon', href: '/mark.svg', type: 'image/svg+xml' }],
    ['meta', { name: 'theme-color', content: '#0f766e' }],
  ],
  themeConfig: {
    logo: '/mark.svg',
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'How to', link: '/guides/ci' },
      { text: 'Why', link: '/never-twice' },
      { text: 'Reference', link: '/commands' },
    ],
    sidebar: SIDEBAR,
    outline: { level: [2, 3] },
    search: { provider: 'local' },
  },
  markdown: { anchor: { slugify: headingAnchor } },
  transformPageData: ({ relativePath, frontmatter }) =>
    WIDE.includes(relativePath) ? { frontmatter: { ...frontmatter, aside: false } } : undefined,
  buildEnd: async ({ srcDir, outDir }) => {
    for (const schema of SCHEMAS) await copyFile(join(srcDir, schema), join(outDir, schema));
  },
});
