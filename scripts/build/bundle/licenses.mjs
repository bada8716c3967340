// The licenses of the bundled packages: most require their text in every copy.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of a package, from the path of one of its files. */
const PACKAGE = /^(?<folder>.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const TEXT = /^(licen[sc]e|copying|notice)/i;

/**
 * One text with the name, version and license of each package to which some of the files belong.
 * @param root - the base of the paths.
 * @param files - paths, with `/`.
 * @throws Error if a package has no license.
 */
export function licensesOf(root, files) {
  const folders = new Set(files.flatMap((file) => PACKAGE.exec(file)?.groups.folder ?? []));
  return [...folders]
    .sort()
    .map((folder) => licenseOf(join(root, folder)))
    .join(`\n${'='.repeat(80)}\n\n`);
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (typeof license !== 'string') throw new Error(`${folder} does not say its license.`);
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && TEXT.test(entry.name))
    .map((entry) => readFileSync(join(folder, entry.name), 'utf8').trim());
  return `${[`${name} ${version}: ${license}`, ...texts].join('\n\n')}\n`;
}
