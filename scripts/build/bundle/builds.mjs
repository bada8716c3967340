// Builds side by side, and the entry files that select the current one:
//
//   FOLDER/main.js     one line, which loads the entry of the current build; one such file for each entry
//   FOLDER/<digest>/   one build, with its entries
//
// A build is complete before an entry file selects it, and replaces no file of another build. So a process of the
// previous build can still load its remaining parts.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The folder of a build that is being written or was interrupted. */
const UNFINISHED = 'unfinished';

/**
 * Writes a build and makes it current. Removes all earlier ones except the last.
 * @param options.files - `{ name, contents }` each.
 * @param options.entries - the names of the files that other code loads.
 * @param options.keepEarlier - whether to keep the previous build.
 */
export function writeBuild(folder, { files, entries, keepEarlier }) {
  const digest = digestOf(files);
  mkdirSync(folder, { recursive: true });
  writeFiles(folder, digest, files);
  for (const name of entries) {
    const entry = join(folder, name);
    const path = `'./${digest}/${name}'`;
    const isCommonJs = name.endsWith('.cjs');
    writeFileSync(
      `${entry}.tmp`,
      isCommonJs ? `module.exports = require(${path});\n` : `export * from ${path};\n`,
    );
    renameSync(`${entry}.tmp`, entry);
  }
  removeOthers(folder, digest, keepEarlier ? 1 : 0);
}

function digestOf(files) {
  const hash = createHash('sha256');
  for (const { name, contents } of files) hash.update(`${name}\n${contents.length}\n`).update(contents);
  return hash.digest('hex').slice(0, 12);
}

/** A build that already exists (same digest) becomes the newest again. */
function writeFiles(folder, digest, files) {
  const build = join(folder, digest);
  if (existsSync(build)) {
    const now = new Date();
    utimesSync(build, now, now);
    return;
  }
  const unfinished = join(folder, UNFINISHED);
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  for (const { name, contents } of files) writeFileSync(join(unfinished, name), contents);
  renameSync(unfinished, build);
}

function removeOthers(folder, digest, kept) {
  const others = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== digest && entry.name !== UNFINISHED)
    .map((entry) => join(folder, entry.name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const build of [...others.slice(kept), join(folder, UNFINISHED)]) {
    rmSync(build, { recursive: true, force: true });
  }
}
