import { AgentStartError } from '../agentStart.ts';
import { agentBaseEnvironment } from '../childEnvironment.ts';
import { type CommandEnd, runCommand, type ShellCommand } from '../command.ts';

const LINE_CHARS = 32_000;
/** The platform's variables for the docker command: the engine's address and its certificates. */
const OF_DOCKER = /^(DOCKER_|CONTAINER_HOST$|XDG_)/;

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

const PULL_TIMEOUT_MS = 15 * 60_000;
/**
 * An option of the command, what Podman reads from the machine's disk or from another engine instead of a registry, or
 * a revision's own name for its image, which another tenant's deployment may have.
 */
const NOT_OF_REGISTRY =
  /^(?:-|(?:containers-storage|dir|docker-archive|docker-daemon|oci|oci-archive|ostree|sif|tarball):|(?:[^/]+\/)?slipway\/[\da-f]{8}-)/;

interface RevisionImage {
  /** As the deployment names it: `image_uri`. */
  readonly uri: string;
  readonly deploymentId: string;
  readonly revisionId: string;
  /** Whether to pull it even if the engine has an image of that name, because a tag may have moved. */
  readonly isPulled: boolean;
}

/**
 * Makes sure that the engine has a revision's image, and returns its name for running. Decision: a revision always
 * runs the image that it ran first. The image gets a name of the revision, so that a restart or redeploy neither
 * waits for a registry nor runs what the tag has become. If the registry cannot provide it, the engine's image of
 * that name is used, and the log says so.
 * @throws AgentStartError if there is no such image.
 */
export async function holdImage(
  docker: Docker,
  image: RevisionImage,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<string> {
  if (NOT_OF_REGISTRY.test(image.uri))
    throw containerFailed(`image_uri is ${image.uri}, which names no image of a registry.`, signal);
  const own = `${repositoryOf(image.deploymentId)}:${image.revisionId}`;
  if (await hasImage(docker, own, signal)) return own;
  const isThere = await hasImage(docker, image.uri, signal);
  if (image.isPulled || !isThere) await pull(docker, image.uri, isThere, log, signal);
  const tagged = await docker({ args: ['image', 'tag', image.uri, own], signal });
  if (tagged.code !== 0) throw notHad(image.uri, tagged, signal);
  return own;
}

/** Makes sure that the engine has the platform's image; pulled once. @throws AgentStartError if there is none. */
export async function haveImage(
  docker: Docker,
  uri: string,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (await hasImage(docker, uri, signal)) return;
  log(
    'Builds and agents run in containers of this image: --isolation container. SLIPWAY_AGENT_IMAGE names another.',
  );
  await pull(docker, uri, false, log, signal);
}

export async function engineAnswers(docker: Docker): Promise<boolean> {
  return (await askEngine(docker)).code === 0;
}

function askEngine(docker: Docker, signal?: AbortSignal): Promise<DockerEnd> {
  const args = ['version', '--format', '{{.Server.Version}}'];
  return docker({ args, timeoutMs: ANSWER_TIMEOUT_MS, signal });
}

/** Removes the image names of a deployment's revisions; the engine deletes images without another name. */
export async function releaseImages(docker: Docker, deploymentId: string): Promise<void> {
  const { stdout } = await docker({
    args: ['image', 'ls', '--format', '{{.Repository}}:{{.Tag}}', repositoryOf(deploymentId)],
  });
  if (stdout.length > 0) await docker({ args: ['image', 'rm', ...stdout] });
}

function repositoryOf(deploymentId: string): string {
  return `slipway/${deploymentId}`;
}

export async function hasImage(docker: Docker, name: string, signal?: AbortSignal): Promise<boolean> {
  const { code } = await docker({ args: ['image', 'inspect', '--format', '{{.Id}}', name], signal });
  return code === 0;
}

async function pull(
  docker: Docker,
  uri: string,
  isThere: boolean,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  log(`Pulling the image ${uri}.`);
  let last: string | undefined;
  const end = await docker({
    args: ['pull', uri],
    timeoutMs: PULL_TIMEOUT_MS,
    signal,
    onLine: (line) => {
      last = line;
      log(line);
    },
  });
  if (end.code === 0) return;
  const said = { ...end, stderr: last === undefined ? [] : [last] };
  if (!isThere || signal.aborted) throw notHad(uri, said, signal);
  log('It could not be pulled. The engine has an image of that name, which is used.');
}

function notHad(uri: string, end: DockerEnd, signal: AbortSignal): AgentStartError {
  const cause = `The image ${uri} could not be had: ${lastWords(end)}. Where its registry asks for a login, log the engine of the platform's machine in to it (docker login).`;
  return containerFailed(cause, signal);
}
