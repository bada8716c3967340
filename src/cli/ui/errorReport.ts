import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

import { isCodedError } from '@slipway/contract/codedError';

import { ConfigError } from '../../config/configError.ts';
import { errorPage, SlipwayError } from '../../domain/errors.ts';
import { printProblems } from '../commands/lint/problemLines.ts';
import type { EventOf } from '../events/index.ts';
import type { Output } from '../output.ts';

/** The printed form of any thrown value. An unexpected error is `SLIPWAY_INTERNAL`. */
export function reportError(error: unknown): EventOf<'error'> {
  const known = isCodedError(error) ? error : (ofThisMachine(error) ?? internal(error));
  return {
    event: 'error',
    code: known.code as EventOf<'error'>['code'],
    message: known.message,
    place: known.place ?? null,
    hint: known.hint ?? null,
    exitCode: known.exitCode,
  };
}

function internal(error: unknown): SlipwayError {
  const hint = 'run the command again with --verbose, and report its output';
  return new SlipwayError('SLIPWAY_INTERNAL', messageOf(error), { hint });
}

const BUILT = fileURLToPath(new URL('../../../dist/', import.meta.url));

/**
 * A full disk, a folder that is gone, a user without a home, a file or a temporary folder that this user may not use, or a
 * missing or incomplete file of Slipway itself.
 */
function ofThisMachine(error: unknown): SlipwayError | undefined {
  const {
    code,
    path,
    syscall,
    stack = '',
    message = '',
  } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const full = 'a file or the output could not be written: the disk is full';
    const hint = 'free space, or set TMPDIR to another folder; then run the command again';
    return new SlipwayError('SLIPWAY_DISK_FULL', full, { place: path, hint });
  }
  if (syscall === 'uv_cwd') {
    const hint = 'change to another one: cd FOLDER';
    return new SlipwayError('SLIPWAY_USAGE', 'the working folder no longer exists', { hint });
  }
  if (syscall === 'uv_os_homedir' || syscall === 'uv_os_get_passwd') {
    const hint = 'set HOME to a folder that can be written';
    return new SlipwayError('SLIPWAY_USAGE', `this user has no home folder: ${message}`, { hint });
  }
  if (syscall === 'mkdtemp') {
    const hint = 'set TMPDIR to a folder that can be written';
    return new SlipwayError('SLIPWAY_USAGE', `no temporary folder could be made: ${message}`, { hint });
  }
  if (path !== undefined && code === 'ENOTDIR') {
    const hint = 'check HOME and XDG_CONFIG_HOME; Slipway’s own folder is set by --home or SLIPWAY_HOME';
    return new SlipwayError('SLIPWAY_USAGE', `a file cannot be used: ${message}`, { hint });
  }
  if (path !== undefined && (code === 'EROFS' || code === 'EACCES' || code === 'EPERM')) {
    const hint = 'check its owner and permissions; Slipway’s own folder is set by --home or SLIPWAY_HOME';
    return new SlipwayError('SLIPWAY_USAGE', `this user may not use a file: ${message}`, { hint });
  }
  const isMissing = code === 'MODULE_NOT_FOUND' || (code === 'ENOENT' && path?.startsWith(BUILT) === true);
  // The stack of a file that cannot be parsed begins with its name. The workflow bundle ends with its source map.
  if (isMissing || stack.startsWith(BUILT) || message.endsWith('from the provided Workflow Bundle')) {
    const what = `a file of Slipway is ${isMissing ? 'missing' : 'damaged'}: ${message.split('\n', 1).join()}`;
    const place = stack.startsWith(BUILT) ? stack.split('\n', 1).join() : undefined;
    const hint = 'install Slipway again; in its repository: npm ci && npm run build';
    return new SlipwayError('SLIPWAY_INSTALLATION_DAMAGED', what, { place, hint });
  }
  return undefined;
}

/**
 * Prints an error: `error SLIPWAY_X: message`, then the place, the hint and the code's page; with `--verbose` the stack
 * and its causes. Problems of `slipway.yaml` are printed before it, as `slipway lint` does.
 */
export function printError(output: Output, error: unknown): number {
  const report = reportError(error);
  if (error instanceof ConfigError) printProblems(output, error.problems, 'note');
  if (output.json) {
    output.event(output.verbose ? { ...report, stack: inspect(error) } : report);
    return report.exitCode;
  }
  const { style } = output;
  // Its problems have been printed, each with its place.
  const shown =
    error instanceof ConfigError ? { message: `${error.file} is not valid`, place: null } : report;
  output.note(`${style.bad('error')} ${style.strong(report.code)}: ${shown.message}`);
  // A place that is already in the message is not repeated.
  if (shown.place !== null && !shown.message.includes(shown.place)) output.note(`  at ${shown.place}`);
  if (report.hint !== null) output.note(`  ${report.hint}`);
  output.note(style.faint(`  ${errorPage(report.code)}`));
  if (output.verbose) output.note(style.faint(inspect(error)));
  return report.exitCode;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const why = messageOf(cause);
  return error.message.includes(why) ? error.message : `${error.message}: ${why}`;
}
