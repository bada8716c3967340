import { appendFile } from 'node:fs/promises';
import { relative } from 'node:path';

import { errorText } from '@slipway/contract/codedError';

import { ConfigError } from '../../config/configError.ts';
import type { ConfigProblem } from '../../config/configPlace.ts';
import type { ReportContext } from '../context.ts';
import { ciCommand, type Output } from '../output.ts';
import { reportError } from '../ui/errorReport.ts';
import { OWN } from '../ui/text.ts';
import { ciRun } from './ciRun.ts';
import { summaryOf } from './markdown.ts';

/** The ending of a command that did not follow anything to its end: rejected, queued, timed out. */
interface CiReport {
  readonly exitCode: number;
  readonly title: string;
  /** Why, and what to do: one paragraph each. */
  readonly why: readonly string[];
  readonly outputs: Outputs;
}

/** Reports this ending to CI: as an annotation if it is unwanted, in the job summary, and in the step outputs. */
export async function reportInCi(context: ReportContext, report: CiReport): Promise<void> {
  const { exitCode, title, why, outputs } = report;
  annotateEnd(context, exitCode, title, why.join('\n'));
  await writeJobSummary(context, summaryOf(exitCode, title, why), outputs);
}

export async function reportErrorInCi(context: ReportContext, error: unknown): Promise<void> {
  ciLog(context).annotateError(error);
  const { code, message, hint, exitCode } = reportError(error);
  const why = hint === null ? [message] : [message, hint];
  await writeJobSummary(context, summaryOf(exitCode, code, why), { 'error-code': code });
}

/** The outputs of `action.yml`, by name. */
export type Outputs = Readonly<Record<string, string>>;

/** Writes the job summary (Markdown) and the step outputs, to the files that GitHub names. */
export async function writeJobSummary(
  context: ReportContext,
  summary: string,
  outputs: Outputs,
): Promise<void> {
  const lines = Object.entries(outputs).map(
    ([name, value]) => `${name}=${value.replaceAll(/[\r\n]/g, ' ')}\n`,
  );
  await append(context, 'GITHUB_STEP_SUMMARY', summary);
  await append(context, 'GITHUB_OUTPUT', lines.join(''));
}

/** Appends to a file that GitHub names. A failed write never changes a release's outcome. */
async function append(
  { environment, output }: ReportContext,
  variable: 'GITHUB_STEP_SUMMARY' | 'GITHUB_OUTPUT',
  text: string,
): Promise<void> {
  const file = environment[variable];
  if (file === undefined || file === '') return;
  try {
    await appendFile(file, text);
  } catch (error) {
    output.note(`${variable} could not be written: ${errorText(error)}`);
  }
}

/** Commands for the log of a CI system. Prints nothing outside CI or with `--json`. */
interface CiLog {
  /** Begins a foldable section of the log. @returns a function that ends it; further calls do nothing. */
  open(title: string): () => void;
  annotate(level: 'error' | 'warning', title: string, message: string): void;
  /** Annotates the run with a command's error; problems of `slipway.yaml` are annotated at their lines. */
  annotateError(error: unknown): void;
}

export function ciLog({ output, environment }: ReportContext): CiLog {
  const system = output.json ? undefined : ciRun(environment)?.system;
  switch (system) {
    case 'github':
      return githubLog(output, environment['GITHUB_WORKSPACE']);
    case 'gitlab':
      return gitlabLog(output);
    default:
      return PLAIN;
  }
}

/** Runs work in a foldable section of the log, which ends when the work calls back, or at its end. */
export async function inSection<T>(
  context: ReportContext,
  title: string,
  work: (close: () => void) => Promise<T>,
): Promise<T> {
  const close = ciLog(context).open(title);
  try {
    return await work(close);
  } finally {
    close();
  }
}

/** The exit code of an ending that a person asked for, or that needs no action. */
const STOPPED = 4;

/** Annotates the run if the command did not reach what it was asked for. */
export function annotateEnd(context: ReportContext, exitCode: number, title: string, reason: string): void {
  if (exitCode === 0) return;
  ciLog(context).annotate(exitCode === STOPPED ? 'warning' : 'error', title, reason);
}

const PLAIN: CiLog = {
  open: () => () => undefined,
  annotate: () => undefined,
  annotateError: () => undefined,
};

function githubLog(output: Output, workspace = process.cwd()): CiLog {
  const command = (name: string, properties: Readonly<Record<string, string>>, message: string): string => {
    const pairs = Object.entries(properties).map(([key, value]) => `${key}=${escaped(value, /[%\r\n:,]/g)}`);
    const given = pairs.length === 0 ? '' : ` ${pairs.join(',')}`;
    return ciCommand(`::${name}${given}::${escaped(message, /[%\r\n]/g)}`);
  };
  const annotate = (level: string, properties: Readonly<Record<string, string>>, message: string): void =>
    output.print(command(level, properties, message));
  const annotateProblem = ({ file, severity, line, column, path, message, code }: ConfigProblem): void =>
    annotate(
      severity,
      {
        file: relative(workspace, file),
        line: String(line),
        col: String(column),
        title: code ?? 'slipway.yaml',
      },
      path === '' ? message : `${path}: ${message}`,
    );
  return {
    open: (title) => {
      output.info(command('group', {}, title));
      return once(() => output.info(command('endgroup', {}, '')));
    },
    annotate: (level, title, message) => annotate(level, { title }, message),
    annotateError: (error) => {
      if (error instanceof ConfigError) {
        error.problems.forEach(annotateProblem);
        return;
      }
      const { code, message, hint } = reportError(error);
      annotate('error', { title: code }, hint === null ? message : `${message}\n${hint}`);
    },
  };
}

/** Escapes the characters that would end a workflow command, as GitHub's toolkit does. */
function escaped(text: string, what: RegExp): string {
  return text.replaceAll(
    what,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

const ERASE = `\u001b[${OWN};0K`;

function gitlabLog(output: Output): CiLog {
  let sections = 0;
  const mark = (kind: 'start' | 'end', name: string): string =>
    `${ERASE}section_${kind}:${Math.floor(Date.now() / 1_000)}:${name}`;
  return {
    ...PLAIN,
    open: (title) => {
      const name = `slipway_${(sections += 1)}`;
      output.info(`${mark('start', name)}\r${ERASE}${title}`);
      return once(() => output.info(`${mark('end', name)}\r${ERASE}`));
    },
  };
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}
