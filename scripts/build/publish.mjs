// Pages and schemas that the build makes of the code. They are committed; tests hold them current.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { format, resolveConfig } from 'prettier';

import { DIST, ROOT } from './freshness.mjs';

/** A module of the build. */
export async function fromBuild(path) {
  return import(pathToFileURL(join(DIST, path)).href);
}

/** Writes a file in the one format, where it differs from what is there. */
export async function publish(path, content) {
  const file = join(ROOT, path);
  const text = await format(content, { ...(await resolveConfig(file)), filepath: file });
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}
