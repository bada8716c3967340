import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { systemReason } from '../../../artifact/sourceFiles.ts';
import type { ConfigProblem } from '../../../config/configPlace.ts';
import { present } from '../../../config/fields.ts';
import { CONFIG_FILE } from '../../../config/findConfig.ts';
import { lintText } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext } from '../../context.ts';
import { gitIn } from '../../provenance.ts';
import { pythonAgentProblems } from '../lint/graphProblems.ts';
import { printProblems } from '../lint/problemLines.ts';
import { answersOnTerminal, defaultAnswers, type InitAnswers, type Terminal } from './initAnswers.ts';
import { ciFile, configText } from './initFiles.ts';
import { type RepositoryFacts, repositoryFacts } from './repositoryFacts.ts';

export interface InitOptions extends Partial<Omit<InitAnswers, 'assistant'>> {
  readonly yes?: boolean;
  readonly force?: boolean;
}

export interface InitSurroundings {
  readonly folder: string;
  /** `undefined`: there is no terminal. */
  readonly terminal: Terminal | undefined;
}

/**
 * `slipway init`: inspects the repository in the working folder, asks for what it cannot find out, and writes
 * `slipway.yaml` and optionally a CI file. Overwrites a file only with `--force`.
 * @throws SlipwayError SLIPWAY_USAGE if a file exists already, or there is no terminal.
 */
export async function runInitCommand(
  context: CommandContext,
  options: InitOptions,
  { folder, terminal }: InitSurroundings,
): Promise<void> {
  const { output } = context;
  const git = gitIn(folder);
  const facts = await repositoryFacts(folder, git);
  for (const line of factLines(facts)) output.print(line);
  const { ci: askedCi, target, controlPlane, deployment } = options;
  // Options override detected values and answers.
  const given = present({ ci: askedCi, target, controlPlane, deployment });
  const answers = { ...(await answersOf(facts, options, terminal)), ...given };
  const text = configText(answers, facts, folder);
  const { config, problems } = lintText(text);
  refuseWrong(problems);
  const inRepository = (await git('rev-parse', '--show-prefix')) ?? '';
  const ci = answers.ci === 'none' ? undefined : await ciFile(answers.ci, answers.target, inRepository);
  const files = [{ path: CONFIG_FILE, text }, ...(ci === undefined ? [] : [ci])];
  await writeAll(folder, files, options.force ?? false);
  for (const { path } of files) {
    output.event({ event: 'written', file: resolve(folder, path) });
    output.print(`${output.style.mark(true)} ${path}`);
  }
  if (ci !== undefined) output.print(`  then: ${ci.then}`);
  if (config !== undefined) printProblems(output, await pythonAgentProblems({ config, folder }), 'note');
  const isLocal = ['127.0.0.1', 'localhost'].includes(new URL(answers.controlPlane).hostname);
  output.print('');
  output.print(
    isLocal
      ? `Next: run "slipway dev" in another terminal, then "slipway release ${answers.target}"`
      : `Next: run "slipway doctor" to see what is missing, then "slipway release ${answers.target}"`,
  );
}

function factLines({ graphConfig, graphs, packageManager }: RepositoryFacts): readonly string[] {
  const found =
    graphConfig === undefined
      ? 'this folder has no graph.json: a release needs one, and a check needs one of its graphs'
      : `${graphConfig}: ${graphs.length === 0 ? 'no graphs' : graphs.join(', ')}`;
  return [
    found,
    ...(packageManager === undefined ? [] : [`installed with ${packageManager}, by its lock file`]),
  ];
}

function answersOf(
  facts: RepositoryFacts,
  { yes = false }: InitOptions,
  terminal: Terminal | undefined,
): InitAnswers | Promise<InitAnswers> {
  if (yes) return defaultAnswers(facts);
  if (terminal !== undefined) return answersOnTerminal(facts, terminal);
  throw new SlipwayError('SLIPWAY_USAGE', 'slipway init needs a terminal for its questions', {
    hint: 'without questions: slipway init --yes; set the rest with --target, --control-plane, --deployment and --ci',
  });
}

function refuseWrong([problem]: readonly ConfigProblem[]): void {
  if (problem === undefined) return;
  const hint = 'nothing was written';
  throw new SlipwayError('SLIPWAY_USAGE', `${problem.path}: ${problem.message}`, { hint });
}

/** Writes all files, or none: not if one exists already, nor if one cannot be written. */
async function writeAll(
  folder: string,
  files: readonly { readonly path: string; readonly text: string }[],
  force: boolean,
): Promise<void> {
  const there = files.map(({ path }) => path).filter((path) => existsSync(join(folder, path)));
  if (there.length > 0 && !force) {
    throw new SlipwayError('SLIPWAY_USAGE', `${there.join(' and ')} exists already`, {
      place: resolve(folder, there[0] ?? ''),
      hint: 'overwrite it with --force, or check it: slipway lint',
    });
  }
  const undo: (() => Promise<void>)[] = [];
  for (const { path, text } of files) {
    const file = join(folder, path);
    try {
      await mkdir(dirname(file), { recursive: true });
      const earlier = there.includes(path) ? await readFile(file) : undefined;
      // `wx`: a file that has appeared meanwhile is not overwritten.
      const handle = await open(file, earlier === undefined ? 'wx' : 'w');
      undo.push(() => (earlier === undefined ? rm(file) : writeFile(file, earlier)));
      await handle.writeFile(text).finally(() => handle.close());
    } catch (error) {
      await Promise.all(undo.map((each) => each()));
      throw new SlipwayError('SLIPWAY_USAGE', `${path} could not be written: ${systemReason(error)}`, {
        place: resolve(folder, path),
        hint: 'make the folder writable, or free space; then run the command again',
        cause: error,
      });
    }
  }
}
