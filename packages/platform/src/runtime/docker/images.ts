import { AgentStartError } from '../agentStart.ts';
import { type Docker, type DockerEnd, lastWords } from './dockerCommand.ts';

const PULL_TIMEOUT_MS = 15 * 60_000;

/** The image of a revision. */
export interface RevisionImage {
  /** As the deployment names it: `image_uri`. */
  readonly uri: string;
  readonly deploymentId: string;
  readonly revisionId: string;
  /** Whether a registry is asked although the engine has an image of that name: a tag may have moved there. */
  readonly isPulled: boolean;
}

/**
 * Has the engine hold a revision's image, and returns the name that it is run by. Decision: a revision runs the image
 * that it ran first. It is given a name of the revision's own, so that a restart or a redeploy neither waits for a
 * registry nor gets what its tag means by then. Where a registry cannot give it, an image of that name that the engine
 * has already does, and the log says so.
 * @throws AgentStartError when there is no such image.
 */
export async function holdImage(
  docker: Docker,
  image: RevisionImage,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const own = `${repositoryOf(image.deploymentId)}:${image.revisionId}`;
  if (await isHeld(docker, own, signal)) return own;
  const isThere = await isHeld(docker, image.uri, signal);
  if (image.isPulled || !isThere) await pull(docker, image.uri, isThere, log, signal);
  const tagged = await docker({ args: ['image', 'tag', image.uri, own], signal });
  if (tagged.code !== 0) throw notHad(image.uri, tagged, signal);
  return own;
}

/** Forgets the names that a deployment's revisions gave to images; an image of no other name is removed. */
export async function releaseImages(docker: Docker, deploymentId: string): Promise<void> {
  const { stdout } = await docker({
    args: ['image', 'ls', '--format', '{{.Repository}}:{{.Tag}}', repositoryOf(deploymentId)],
  });
  if (stdout.length > 0) await docker({ args: ['image', 'rm', ...stdout] });
}

function repositoryOf(deploymentId: string): string {
  return `slipway/${deploymentId}`;
}

async function isHeld(docker: Docker, name: string, signal: AbortSignal): Promise<boolean> {
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
  if (signal.aborted) return new AgentStartError({ kind: 'aborted' }, []);
  const cause = `The image ${uri} could not be had: ${lastWords(end)}. Where its registry asks for a login, log the engine of the platform's machine in to it (docker login).`;
  return new AgentStartError({ kind: 'container', cause }, []);
}
