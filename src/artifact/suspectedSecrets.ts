import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';

import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { creator as recommendedRules } from '@secretlint/secretlint-rule-preset-recommend';

import type { WholeNumber } from '../domain/scalars.ts';
import { notRead, type SourceEntry } from './sourceFiles.ts';

/** A place in a source that looks like a secret. Never the secret itself. */
export interface SuspectedSecret {
  /** The file, relative to the source's root, with `/`. */
  readonly path: string;
  /** From 1. `null`: the file's name looks like that of a secret. */
  readonly line: WholeNumber | null;
  /** What it looks like: `GitHub Token`, `a store of passwords`. */
  readonly what: string;
}

export interface SuspectedSecretsOptions {
  readonly root: string;
  /** The packed entries (`sourceFiles`). */
  readonly entries: readonly SourceEntry[];
  readonly signal?: AbortSignal;
}

// secretlint times each rule on each file, and compares each time with all earlier ones: minutes for thousands of files.
secretLintProfiler.mark = () => undefined;

/** Larger files are generated or data: too large to scan, and people seldom put a key there. */
const READ_MAX_BYTES = 1024 * 1024;

/** File names that suggest secrets. Files that always contain secrets are never packed (`packSource`). */
const NAMES: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/(?:^|\/)\.aws\/credentials$/i, 'credentials of AWS'],
  [/(?:^|\/)(?:credentials|client_secret[^/]*|service[-_]?account[^/]*)\.json$/i, 'credentials of a service'],
  [/(?:^|\/)secrets?\.(?:json|ya?ml|toml|ini)$/i, 'a file of secrets'],
  [/(?:^|\/)\.(?:git-credentials|pgpass|htpasswd)$/i, 'a file of passwords'],
  [/\.kdbx$/i, 'a store of passwords'],
  [/\.tfstate(?:\.backup)?$/i, 'state of Terraform, which holds secrets in plain text'],
  [/(?:^|\/)(?:kubeconfig|\.kube\/config)$/i, 'credentials of a cluster'],
  [/(?:^|\/)\.docker\/config\.json$/i, 'credentials of a registry'],
];

/**
 * The places in a packed source that look like secrets by file name or text, in the order of the paths. Files over 1
 * MiB and binary files are judged only by their names. The comment `secretlint-disable-line` allows a line.
 * @throws SlipwayError `SLIPWAY_ARTIFACT_UNREADABLE`; the signal's reason.
 */
export async function suspectedSecrets(options: SuspectedSecretsOptions): Promise<SuspectedSecret[]> {
  const { root, entries, signal } = options;
  const found: SuspectedSecret[] = [];
  const realRoot = await realpath(root);
  for (const entry of entries) {
    signal?.throwIfAborted();
    const { path } = entry;
    const named = NAMES.find(([pattern]) => pattern.test(path));
    if (named !== undefined) found.push({ path, line: null, what: named[1] });
    if (entry.kind === 'file' && entry.sizeBytes <= READ_MAX_BYTES) {
      found.push(...(await inText(path, await textOf(join(realRoot, path), path))));
    }
  }
  return found;
}

async function inText(path: string, content: string | undefined): Promise<SuspectedSecret[]> {
  if (content === undefined) return [];
  const { messages } = await lintSource({
    source: { filePath: path, content, ext: '', contentType: 'text' },
    options: { config: RULES, maskSecrets: true, noPhysicFilePath: true },
  });
  return messages.map(({ message, loc }) => ({ path, line: loc.start.line, what: kindOf(message) }));
}

const RULES = {
  rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: recommendedRules }],
};

/** `found GitHub Token(…): ****` is about a GitHub Token. */
function kindOf(message: string): string {
  return message.replace(/^found /i, '').replace(/\s*[(:].*$/s, '');
}

/** A file's text; `undefined` if it is binary. */
async function textOf(file: string, path: string): Promise<string | undefined> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw notRead(path, error);
  });
  return bytes.includes(0) ? undefined : bytes.toString('utf8');
}
