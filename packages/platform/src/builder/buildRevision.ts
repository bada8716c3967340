import { access, chown, mkdir, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';

import { buildEnvironment } from '../runtime/childEnvironment.ts';
import { AgentStartError } from '../runtime/agentStart.ts';
import { type CommandEnd, runShellCommand, type Shell } from '../runtime/command.ts';
import type { ContainedBuild } from '../runtime/docker/containedShell.ts';
import { lastLinesText } from '../runtime/outputLines.ts';
import { BuildFailure, createFailureLines, type FailureLines } from './buildFailure.ts';
import { type BuildLimits, DEFAULT_BUILD_LIMITS } from './buildLimits.ts';
import { checkGraphs, locateGraphConfig, findGraphConfig, readGraphConfig } from './graphConfigCheck.ts';
import { type InstallPlan, planInstall } from './installPlan.ts';
import { NodeModulesCache } from './nodeModulesCache.ts';
import { describeLimit, CAN_READ_MEMORY, watchResources, exceededWorkspaceLimit } from './resourceWatch.ts';
import { unpackSource } from './sourceArchive.ts';

/** Options of {@link buildRevision}. Fields named after contract 000: see "SourceConfig". */
export interface BuildOptions {
  /** The uploaded source: a gzipped tarball. */
  readonly tarball: string;
  /** A directory for this build alone. It is emptied first, and keeps the built source. */
  readonly workspace: string;
  /** `graph_config_path`: the graph configuration file, relative to the source's root. */
  readonly graphConfigPath: string;
  /** `install_command`: run from the source's root. Default: detected from the lock file. */
  readonly installCommand?: string | null;
  /** `build_command`: run from the directory of the graph configuration file. Default: none. */
  readonly buildCommand?: string | null;
  /** A folder that does not exist, for temporary files. The caller removes it. */
  readonly scratch: string;
  /** The cache of installed dependencies. Concurrent builds may share it, but not those of different tenants. */
  readonly cacheDir: string;
  /** Prepares where the source's commands run. Default: as processes of this machine. */
  readonly openShell?: (build: ContainedBuild) => Promise<Shell>;
  readonly log: (line: string) => void;
  /** Cancels the build; nothing of it keeps running. */
  readonly signal: AbortSignal;
  /** Default: {@link DEFAULT_BUILD_LIMITS}. */
  readonly limits?: BuildLimits;
}

/** A built source, or why there is none: several lines for the source's owner. */
export type BuildResult =
  | {
      readonly ok: true;
      /** The directory of the graph configuration file in the workspace, where the agent runs. */
      readonly agentDir: string;
      /** The graph configuration file, relative to `agentDir`. */
      readonly graphConfigPath: string;
    }
  | { readonly ok: false; readonly reason: string };

/**
 * Builds an agent from an uploaded source: unpacks it, installs its dependencies, builds it, and checks its graph
 * configuration.
 *
 * A failure of the source, a full disk and a canceled build are reported as a reason, and the workspace is removed.
 * Only a fault of the builder itself is thrown.
 */
export async function buildRevision(options: BuildOptions): Promise<BuildResult> {
  const limits = options.limits ?? DEFAULT_BUILD_LIMITS;
  const workspace = resolve(options.workspace);
  const log = boundedLog(options.log, limits, workspace);
  // One signal for both: a cancellation, and the timeout of the whole build.
  const over = new AbortController();
  const onAbort = () => over.abort();
  if (options.signal.aborted) onAbort();
  options.signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(onAbort, limits.buildTimeoutMs);
  try {
    const file = await build({ ...options, workspace, limits, log, signal: over.signal });
    return { ok: true, agentDir: dirname(file), graphConfigPath: basename(file) };
  } catch (error) {
    await rm(workspace, { recursive: true, force: true, maxRetries: 3 });
    const reason = over.signal.aborted ? reasonOfStop(options.signal.aborted, limits) : reasonOf(error);
    if (reason === undefined) throw error;
    const shown = reason.replaceAll(workspace, '.');
    for (const line of shown.split('\n')) log(line);
    return { ok: false, reason: shown };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', onAbort);
  }
}

interface Build extends BuildOptions {
  readonly limits: BuildLimits;
}

async function build(options: Build): Promise<string> {
  const { workspace, signal, limits, log } = options;
  signal.throwIfAborted();
  await rm(workspace, { recursive: true, force: true });
  await mkdir(workspace, { recursive: true });
  const root = await realpath(workspace);
  const { scratch, openShell = openMachineShell } = options;
  const shell = await openShell({ workspace: root, scratch, memoryBytes: limits.memoryBytes, log, signal });

  log('Unpacking the source.');
  if (shell.owner !== undefined) await chown(root, shell.owner.uid, shell.owner.gid);
  await unpackSource(options.tarball, root, limits, signal, shell.owner);
  const named = locateGraphConfig(root, options.graphConfigPath);
  const isBuilt = (options.buildCommand ?? '').trim() !== '';
  const file = isBuilt ? named : await findGraphConfig(root, named);
  if (file !== named)
    log(`The source has no ${relative(root, named)}: its ${relative(root, file)} is used instead.`);
  // Report existing mistakes before the installation. The build may still create the file itself.
  const config = await readGraphConfig(root, file);
  if (config === undefined && !isBuilt) await checkGraphs(root, file);

  if (shell.place !== undefined) log(`Commands run in ${shell.place}.`);
  else if (!CAN_READ_MEMORY)
    log('This system does not show how much memory processes use: the memory limit is not enforced.');
  const plan = await planInstall(root, dirname(file), options.installCommand, { shell, signal });
  if (plan === undefined) log('There is no package.json, so nothing is installed.');
  else await install(plan, shell, options);
  signal.throwIfAborted();

  if (isBuilt) {
    const cwd = dirname(file);
    await access(cwd).catch(() => {
      throw new BuildFailure(`The source has no directory ${relative(root, cwd)} to run build_command in.`);
    });
    await run('build_command', options.buildCommand ?? '', cwd, shell, options);
  }
  const { env: variables, node_version: node } = await checkGraphs(root, file);
  if (node !== undefined && node.split('.')[0] !== process.versions.node.split('.')[0])
    log(
      `${relative(root, file)} asks for Node ${node} (node_version). The platform builds and runs it on Node ${process.versions.node}.`,
    );
  if (typeof variables === 'string')
    await access(join(dirname(file), variables)).catch(() => log(noEnvFile(variables)));
  const beyond = await exceededWorkspaceLimit(options, signal);
  signal.throwIfAborted();
  if (beyond !== undefined) throw new BuildFailure(`The build ${beyond}.`);
  log('The source is built.');
  return join(workspace, relative(root, file));
}

function openMachineShell(): Promise<Shell> {
  return Promise.resolve({ env: buildEnvironment(), run: runShellCommand });
}

function noEnvFile(name: string): string {
  return `The graph configuration names the env file ${name}, and the source has none: the agent starts without it. Secrets come from the deployment's secrets; artifacts carry no .env files.`;
}

async function install(plan: InstallPlan, shell: Shell, options: Build): Promise<void> {
  const { log, signal, limits } = options;
  const cache = new NodeModulesCache(options.cacheDir, async (from, to) => {
    const lines = createFailureLines();
    const end = await runShellCommand({
      command: 'cp -a -- "$FROM" "$TO"',
      cwd: plan.cwd,
      env: { ...buildEnvironment(), FROM: from, TO: to },
      timeoutMs: limits.commandTimeoutMs,
      signal,
      onLine: (line) => lines.add(line),
      lineChars: limits.logLineChars,
    });
    if (end.kind !== 'exited' || end.code !== 0)
      throw failureOf('Copying node_modules', 'cp', end, lines, limits);
  });
  const modules = join(plan.cwd, 'node_modules');
  const key = await cache.keyOf(plan, shell.place);
  if (key !== undefined && (await cache.restore(key, modules))) {
    log(`Installed from the cache: nothing has changed for \`${plan.command}\`.`);
    return;
  }
  log(`Installing with \`${plan.command}\`, because ${plan.because}.`);
  await run('The installation', plan.command, plan.cwd, shell, options);
  // A command may have put a link to another folder of the machine in the place of a folder.
  if (key === undefined || (await realpath(plan.cwd)) !== plan.cwd) return;
  try {
    await cache.store(key, modules);
  } catch (error) {
    signal.throwIfAborted();
    // The source is installed all the same, but the next build has to install again.
    const [why = ''] = (error as Error).message.split('\n');
    log(`What was installed could not be kept for the next build: ${why}`);
  }
}

/** @throws BuildFailure if the command fails. */
async function run(what: string, command: string, cwd: string, shell: Shell, options: Build): Promise<void> {
  const { log, signal, limits } = options;
  log(`$ ${command}`);
  const lines = createFailureLines();
  const end = await shell.run({
    command,
    cwd,
    env: shell.env,
    timeoutMs: limits.commandTimeoutMs,
    signal,
    onLine: (line) => {
      log(line);
      lines.add(line.slice(0, limits.logLineChars));
    },
    lineChars: limits.logLineChars + 1,
    watch: (pid, stop) => watchResources(pid, options, stop),
  });
  signal.throwIfAborted();
  if (end.kind !== 'exited' || end.code !== 0) throw failureOf(what, command, end, lines, limits);
}

function failureOf(
  what: string,
  command: string,
  end: CommandEnd,
  lines: FailureLines,
  limits: BuildLimits,
): BuildFailure {
  const full = lines.hasDiskFullLine ? 'The disk is full (ENOSPC). ' : '';
  const said = lastLinesText(lines.relevantLines());
  return new BuildFailure(`${full}${what} (\`${command}\`) ${describeEnd(end, limits)}.${said}`);
}

function describeEnd(end: CommandEnd, limits: BuildLimits): string {
  switch (end.kind) {
    case 'exited':
      return `ended with exit code ${end.code}`;
    case 'killed':
      return `was ended by ${end.signal}`;
    case 'timed_out':
      return `took longer than ${limits.commandTimeoutMs / 1000} s and was ended: ${describeLimit('commandTimeoutMs')}`;
    case 'stopped':
      return end.why;
    case 'aborted':
      return 'was canceled';
  }
}

function reasonOfStop(isCanceled: boolean, limits: BuildLimits): string {
  if (isCanceled) return 'The build was canceled.';
  return `The build took longer than ${limits.buildTimeoutMs / 1000} s in all and was ended: ${describeLimit('buildTimeoutMs')}.`;
}

/** An error as text for the source's owner; undefined for a fault of the builder. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof BuildFailure || error instanceof AgentStartError) return error.message;
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return `The disk is full (${code}): ${message}.`;
  return code !== undefined && syscall !== undefined
    ? `The build could not continue: ${message}.`
    : undefined;
}

/**
 * A build's log, bounded in line length and number. At the bound it logs one note and drops the rest.
 * @param workspace - shown as `.` in every line, because the platform's paths do not help the reader.
 */
function boundedLog(
  log: (line: string) => void,
  limits: BuildLimits,
  workspace: string,
): (line: string) => void {
  let lines = 0;
  return (line) => {
    lines += 1;
    if (lines > limits.logLines) return;
    if (lines === limits.logLines) {
      log(`… The log has reached ${String(limits.logLines)} lines. The rest is left out.`);
      return;
    }
    const text = line.replaceAll(workspace, '.');
    log(text.length > limits.logLineChars ? `${text.slice(0, limits.logLineChars)} … (cut)` : text);
  };
}
