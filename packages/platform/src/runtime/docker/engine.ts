import { AgentStartError } from '../agentStartError.ts';
import type { Docker, DockerEnd } from './dockerCommand.ts';

const ANSWER_TIMEOUT_MS = 20_000;

/**
 * Makes sure that there is a docker command and that its engine answers.
 *
 * @throws AgentStartError saying which of the two is missing, and what to do.
 */
export async function requireEngine(docker: Docker, signal: AbortSignal): Promise<void> {
  const end = await docker({
    args: ['version', '--format', '{{.Server.Version}}'],
    timeoutMs: ANSWER_TIMEOUT_MS,
    signal,
  });
  if (end.code === 0) return;
  if (signal.aborted) throw new AgentStartError({ kind: 'aborted' }, []);
  const cause =
    end.code === 127
      ? 'This machine has no docker command, and container images run through it. Install a container engine with it ' +
        '(Docker Engine, or Podman with podman-docker) on the machine of the platform, or name one that takes the ' +
        'same arguments in SLIPWAY_DOCKER; then redeploy the revision.'
      : `The container engine of this machine does not answer (${lastWords(end)}). Start it, and let the platform's ` +
        'user reach it; then redeploy the revision.';
  throw new AgentStartError({ kind: 'container', cause }, []);
}

/** How many cores the engine's machine has; undefined where it does not say. */
export async function coresOfEngine(docker: Docker, signal: AbortSignal): Promise<number | undefined> {
  const { code, stdout } = await docker({ args: ['info', '--format', '{{.NCPU}}'], signal });
  const cores = Number(stdout.at(-1));
  return code === 0 && cores > 0 ? cores : undefined;
}

/** What a failed call said last, for a sentence. */
export function lastWords({ code, stdout, stderr }: DockerEnd): string {
  const said = [...stdout, ...stderr].at(-1);
  return said ?? (code === null ? 'it ended without output' : `exit code ${code}`);
}
