import type { AgentStartError } from '../agentStart.ts';
import { containerFailed, type Docker, type DockerEnd, lastWords } from './dockerCommand.ts';

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
  if (tagged.code !== 0) throw imageNotAvailable(image.uri, tagged, signal);
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
  if (!isThere || signal.aborted) throw imageNotAvailable(uri, said, signal);
  log('It could not be pulled. The engine has an image of that name, which is used.');
}

function imageNotAvailable(uri: string, end: DockerEnd, signal: AbortSignal): AgentStartError {
  const cause = `The image ${uri} is not available: ${lastWords(end)}. If its registry requires a login, log in on the platform's machine: docker login`;
  return containerFailed(cause, signal);
}
