// Builds beside each other, and what names the one that counts:
//
//   FOLDER/main.js     one line, which loads the entry of the build that counts; one such file for each entry
//   FOLDER/<digest>/   one build, with its entries
//
// A build is whole before anything names it, and replaces no file of another: a process that began with the build before
// this one finds the parts that it has not loaded yet.
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

/** A folder of this name is of a build that is being written, or was cut off. */
const UNFINISHED = 'unfinished';

/**
 * Writes a build and makes it the one that counts. Those before it are removed, but for the last.
 *
 * @param options.files - `{ name, contents }` each.
 * @param options.entries - the names of those that others load.
 * @param options.keepEarlier - whether the last build before this one stays.
 */
export function writeBuild(folder, { files, entries, keepEarlier }) {
  const digest = digestOf(files);
  mkdirSync(folder, { recursive: true });
  writeFiles(folder, digest, files);
  for (const name of entries) {
    const entry = join(folder, name);
    writeFileSync(`${entry}.tmp`, `export * from './${digest}/${name}';\n`);
    renameSync(`${entry}.tmp`, entry);
  }
  removeOthers(folder, digest, keepEarlier ? 1 : 0);
}

function digestOf(files) {
  const hash = createHash('sha256');
  for (const { name, contents } of files) hash.update(`${name}\n${contents.length}\n`).update(contents);
  return hash.digest('hex').slice(0, 12);
}

/** A build that is there already, since it has the same digest, becomes the newest again. */
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
