import { AgentStartError } from '../agentStart.ts';
import { agentBaseEnvironment } from '../childEnvironment.ts';
import { type CommandEnd, runCommand, type ShellCommand } from '../command.ts';

const LINE_CHARS = 32_000;
/** The platform's variables for the docker command: the engine's address, its certificates, the logins to registries. */
const OF_DOCKER = /^(DOCKER_|CONTAINER_HOST$|REGISTRY_AUTH_FILE$|XDG_)/;

interface DockerCall {
  readonly args: readonly string[];
  /** Values in the command's own environment, for its `--env NAME`: they appear in no process list. */
  readonly env?: Readonly<Record<string, string>>;
  /** The text for `/dev/stdin`. Default: none. */
  readonly input?: string;
  /** The timeout in ms, after which it is killed. Default: 60,000; `Infinity` for none. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string, cut: boolean) => void;
  /** See `Command.watch`. */
  readonly watch?: ShellCommand['watch'];
}

/** How a call ended. */
export interface DockerEnd {
  /** The exit code; 127 if the command does not exist; null if it was killed. */
  readonly code: number | null;
  /** The same, with what killed it. */
  readonly end: CommandEnd;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
}

/** This machine's docker command, or one with the same arguments. */
export type Docker = (call: DockerCall) => Promise<DockerEnd>;

/**
 * Makes a {@link Docker}. A call ends with this process, even if that is killed, but the engine continues what it was
 * asked to do. A failure of the command or the engine is a result, never a rejection.
 * @param command - its name or path.
 */
export function createDocker(command: string): Docker {
  const ofDocker = Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && OF_DOCKER.test(name) ? [[name, value]] : [],
  );
  const base = { ...agentBaseEnvironment(), ...(Object.fromEntries(ofDocker) as Record<string, string>) };
  return async ({ args, env, input, timeoutMs = 60_000, signal, onLine, watch }) => {
    const lines = { stdout: [] as string[], stderr: [] as string[] };
    const end = await runCommand({
      // Node's own pipes are sockets, which a command cannot open at /dev/stdin; a shell's are pipes.
      command:
        input === undefined
          ? [command, ...args]
          : ['/bin/sh', '-c', 'cat | exec "$@"', 'sh', command, ...args],
      cwd: '/',
      env: { ...env, ...base },
      input,
      timeoutMs,
      signal: signal ?? new AbortController().signal,
      lineChars: LINE_CHARS,
      watch,
      onLine: (line, cut, from) => (onLine === undefined ? lines[from].push(line) : onLine(line, cut)),
    });
    return { code: end.kind === 'exited' ? end.code : null, end, ...lines };
  };
}

const ANSWER_TIMEOUT_MS = 20_000;

/**
 * Requires a docker command and an engine that answers.
 * @throws AgentStartError that says which is missing, and what to do.
 */
export async function requireEngine(docker: Docker, signal: AbortSignal): Promise<void> {
  const end = await askEngine(docker, signal);
  if (end.code === 0) return;
  const cause =
    end.code === 127
      ? 'This machine has no docker command, and container images run through it. Install a container engine with it ' +
        '(Docker Engine, or Podman with podman-docker) on the machine of the platform, or name one that takes the ' +
        'same arguments in SLIPWAY_DOCKER; then redeploy the revision.'
      : `The container engine of this machine does not answer (${lastWords(end)}). Start it, and let the platform's ` +
        'user reach it; then redeploy the revision.';
  throw containerFailed(cause, signal);
}

/** The error of a container that could not be created, unless its start was canceled. */
export function containerFailed(cause: string, signal: AbortSignal): AgentStartError {
  return new AgentStartError(signal.aborted ? { kind: 'aborted' } : { kind: 'container', cause }, []);
}

/** What the engine reports of itself and its machine, in Docker's words or in Podman's. */
export async function readEngine(
  docker: Docker,
  signal: AbortSignal,
): Promise<{
  /** The cores of its machine; undefined if it does not report them. */
  readonly cores: number | undefined;
  /** Whether it runs as its user, who is root in its containers. */
  readonly isRootless: boolean;
}> {
  const { stdout } = await docker({ args: ['info', '--format', '{{json .}}'], signal });
  const text = stdout.join('');
  const cores = Number(/"(?:NCPU|cpus)":\s*(\d+)/.exec(text)?.[1]);
  return { cores: cores > 0 ? cores : undefined, isRootless: /"rootless":\s*true|name=rootless/.test(text) };
}

/** The last line of a failed call, for a sentence. */
export function lastWords({ code, stdout, stderr }: DockerEnd): string {
  const said = [...stdout, ...stderr].at(-1);
  return said ?? (code === null ? 'it ended without output' : `exit code ${code}`);
}

/** Removes containers, running or not, with their volumes. */
export function removeContainers(docker: Docker, containers: readonly string[]): Promise<DockerEnd> {
  return docker({ args: ['rm', '--force', '--volumes', ...containers] });
}

export async function engineAnswers(docker: Docker): Promise<boolean> {
  return (await askEngine(docker)).code === 0;
}

function askEngine(docker: Docker, signal?: AbortSignal): Promise<DockerEnd> {
  const args = ['version', '--format', '{{.Server.Version}}'];
  return docker({ args, timeoutMs: ANSWER_TIMEOUT_MS, signal });
}
