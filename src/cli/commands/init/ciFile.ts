import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import type { CiKind } from './ciKinds.ts';

/** A file that is written for CI. */
export interface CiFile {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
  /** What is still to be done for it to run. */
  readonly then: string;
}

const TEMPLATES = fileURLToPath(new URL('../../../../templates/', import.meta.url));
/** The target that the templates name. */
const NAMED_TARGET = /(?<=\btarget: |_TARGET: )staging\b/g;

/** The CI file of a repository: the template that is part of Slipway, with the target's name. */
export async function ciFile(kind: Exclude<CiKind, 'none'>, target: string): Promise<CiFile> {
  const { template, path, then } = FILES[kind];
  const text = await readFile(`${TEMPLATES}${template}`, 'utf8');
  return { path, text: text.replaceAll(NAMED_TARGET, target), then };
}

const FILES = {
  github: {
    template: 'github/release.yml',
    path: '.github/workflows/release.yml',
    then: 'set the variable TEMPORAL_ADDRESS and the secrets that the workflow names, in the settings of the repository',
  },
  gitlab: {
    template: 'gitlab/release.gitlab-ci.yml',
    path: '.gitlab/slipway.gitlab-ci.yml',
    then: 'include it in .gitlab-ci.yml ("include: [.gitlab/slipway.gitlab-ci.yml]"), and set the variables that it names',
  },
} as const;
