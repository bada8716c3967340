import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';

import { stringify } from 'yaml';

import { systemReason } from '../../../artifact/sourceFiles.ts';
import type { ConfigProblem } from '../../../config/configPlace.ts';
import { present } from '../../../config/fields.ts';
import { CONFIG_FILE } from '../../../config/findConfig.ts';
import { lintText } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { TARGET_NAME } from '../../../domain/target/targetSpec.ts';
import type { CommandContext } from '../../context.ts';
import { interruptible } from '../../interruption.ts';
import { gitIn } from '../../provenance.ts';
import { pythonAgentProblems } from '../lint/graphProblems.ts';
import { printProblems } from '../lint/problemLines.ts';
import { CI_KINDS, type CiKind, type RepositoryFacts, repositoryFacts } from './repositoryFacts.ts';

export interface InitOptions extends Partial<Omit<InitAnswers, 'assistant'>> {
  readonly yes?: boolean;
  readonly force?: boolean;
}

export interface InitSurroundings {
  readonly folder: string;
  /** `undefined`: there is no terminal. */
  readonly terminal:
    { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream } | undefined;
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
): Promise<number> {
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
  return 0;
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

async function answersOf(
  facts: RepositoryFacts,
  { yes = false }: InitOptions,
  terminal: InitSurroundings['terminal'],
): Promise<InitAnswers> {
  if (yes) return defaultAnswers(facts);
  if (terminal === undefined) {
    throw new SlipwayError('SLIPWAY_USAGE', 'slipway init needs a terminal for its questions', {
      hint: 'without questions: slipway init --yes; set the rest with --target, --control-plane, --deployment and --ci',
    });
  }
  return interruptible(async (signal) => {
    const questions = terminalQuestions(terminal.input, terminal.output, signal);
    try {
      return await askAnswers(facts, questions.ask);
    } catch (error) {
      // readline handles Ctrl-C and Ctrl-D on a terminal, so the process gets no signal.
      const isLeft = error instanceof Error && error.name === 'AbortError';
      if (!isLeft && !signal.aborted) throw error;
      // The cursor is behind the question.
      terminal.output.write('\n');
      throw new SlipwayError('SLIPWAY_USAGE', 'stopped; nothing was written');
    } finally {
      questions.close();
    }
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

interface CiFile {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
  /** What the user must still do before it works. */
  readonly then: string;
}

const TEMPLATES = fileURLToPath(new URL('../../../../templates/', import.meta.url));
const NAMED_TARGET = /(?<=\b(?:target|name): |_TARGET: )staging\b/g;
/** The repository of Slipway's source in the templates: this package publishes no address. */
const PLACEHOLDER = 'OWNER/slipway';

/** @param folder - the path in the repository; empty: its root, the only place where CI finds the file. */
async function ciFile(kind: Exclude<CiKind, 'none'>, target: string, folder: string): Promise<CiFile> {
  const { template, path, then, config } = FILES[kind];
  const moved = `move it to the root of the repository, and add to its jobs "${config}: ${folder}${CONFIG_FILE}"; `;
  const text = await readFile(`${TEMPLATES}${template}`, 'utf8');
  return {
    path,
    text: text.replaceAll(NAMED_TARGET, target),
    then: `${folder === '' ? '' : moved}replace ${PLACEHOLDER} with your copy of Slipway's repository; ${then}`,
  };
}

const FILES = {
  github: {
    template: 'github/release.yml',
    path: '.github/workflows/release.yml',
    config: 'config',
    then: 'set the variable TEMPORAL_ADDRESS and the secrets that the workflow names, in the settings of the repository',
  },
  gitlab: {
    template: 'gitlab/release.gitlab-ci.yml',
    path: '.gitlab/slipway.gitlab-ci.yml',
    config: 'SLIPWAY_INPUT_CONFIG',
    then: 'include it in .gitlab-ci.yml ("include: [.gitlab/slipway.gitlab-ci.yml]"), and set its variables',
  },
} as const;

const SCHEMA = new URL('../../../../docs/slipway.schema.json', import.meta.url);

/** Where editors find the file's JSON Schema: in this installation, which may be inside the repository. */
function schemaPlace(folder: string): string {
  const path = relative(folder, fileURLToPath(SCHEMA));
  return path.startsWith('..') ? SCHEMA.href : path;
}

function configText(
  { target, controlPlane, deployment, assistant }: InitAnswers,
  { graphConfig }: Pick<RepositoryFacts, 'graphConfig'>,
  folder: string,
): string {
  const lines = [
    `# yaml-language-server: $schema=${schemaPlace(folder)}`,
    '# How this agent is released. Every field: docs/slipway-yaml.md of Slipway. Check the file: slipway lint',
    'targets:',
    `  ${scalar(target)}:`,
    `    controlPlane: ${scalar(controlPlane)}`,
    '    # The worker resolves it in its own environment. Never write a secret into this file.',
    '    apiKey: { from: env:SLIPWAY_API_KEY }',
    `    deployment: ${scalar(deployment)}`,
  ];
  // The default name is left out.
  if (graphConfig !== undefined && graphConfig !== 'graph.json') {
    lines.push('', 'artifact:', `  graphConfig: ${scalar(graphConfig)}`);
  }
  if (assistant !== undefined) {
    lines.push(
      '',
      '# Checks run the agent of the released revision. If one fails, Slipway restores the previous revision.',
      '# Set an input for this agent, and the answer that you expect: expect: { contains: … }',
      'checks:',
      '  - name: answers',
      `    assistant: ${scalar(assistant)}`,
      "    input: { messages: [{ role: user, content: 'Hello' }] }",
      '    timeout: 60s',
    );
  }
  return `${lines.join('\n')}\n`;
}

function scalar(text: string): string {
  return stringify(text, { lineWidth: 0 }).trimEnd();
}

interface InitAnswers {
  readonly target: string;
  readonly controlPlane: string;
  readonly deployment: string;
  /** The graph that is checked; `undefined`: none. */
  readonly assistant: string | undefined;
  readonly ci: CiKind;
}

type Ask = (question: string, byDefault: string) => Promise<string>;

function defaultAnswers({ graphs, name, host }: RepositoryFacts): InitAnswers {
  return {
    target: 'staging',
    controlPlane: 'http://127.0.0.1:4700',
    deployment: name,
    assistant: graphs[0],
    ci: host ?? 'none',
  };
}

/** Asks for what cannot be detected. The offered defaults are those of {@link defaultAnswers}. */
async function askAnswers(facts: RepositoryFacts, ask: Ask): Promise<InitAnswers> {
  const offered = defaultAnswers(facts);
  const target = await asked(ask, 'What is the name of the first target?', offered.target, (text) =>
    TARGET_NAME.test(text) ? undefined : 'use letters, digits, dots and dashes only',
  );
  const controlPlane = await asked(
    ask,
    'What is the URL of its control plane? (default: that of "slipway dev")',
    offered.controlPlane,
    (text) => (URL.canParse(text) && /^https?:/.test(text) ? undefined : 'use an http or https URL'),
  );
  const deployment = await ask('What is the name of the deployment there?', offered.deployment);
  const { graphs } = facts;
  const assistant =
    graphs.length > 1
      ? await asked(
          ask,
          `Which graph should the check run? (${graphs.join(', ')})`,
          graphs[0] ?? '',
          oneOf(graphs),
        )
      : offered.assistant;
  const ci = await asked(ask, `Write a CI file? (${CI_KINDS.join(', ')})`, offered.ci, oneOf(CI_KINDS));
  return { target, controlPlane, deployment, assistant, ci: CI_KINDS.find((kind) => kind === ci) ?? 'none' };
}

async function asked(
  ask: Ask,
  question: string,
  byDefault: string,
  problem: (text: string) => string | undefined,
): Promise<string> {
  for (let hint = ''; ;) {
    const answer = await ask(`${hint}${question}`, byDefault);
    const wrong = problem(answer);
    if (wrong === undefined) return answer;
    hint = `${wrong}. `;
  }
}

function oneOf(words: readonly string[]): (text: string) => string | undefined {
  return (text) => (words.includes(text) ? undefined : `one of ${words.join(', ')}, please`);
}

function terminalQuestions(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): { readonly ask: Ask; close(): void } {
  const lines = createInterface({ input, output });
  return {
    ask: async (question, byDefault) => {
      const answer = await lines.question(`${question} [${byDefault}] `, { signal });
      return answer.trim() === '' ? byDefault : answer.trim();
    },
    close: () => lines.close(),
  };
}
