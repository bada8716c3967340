import { chown, mkdir } from 'node:fs/promises';
import type { Server } from 'node:net';

import { AgentStartError } from '../agentStart.ts';
import { commandInContainer, placesOfPrograms } from '../agentCommand.ts';
import { CONTAINED_HOME, containedBuildEnvironment } from '../childEnvironment.ts';
import type { CommandEnd, Shell, ShellCommand } from '../command.ts';
import { SOCKETS } from '../containedNetwork.ts';
import { type ContainerOwner, inPlace, nameOf, NOBODY, runCall } from './containerRequest.ts';
import { type Docker, lastWords, readEngine, removeContainers, requireEngine } from './dockerCommand.ts';
import { haveImage } from './images.ts';
import { openEgressSocket } from './sockets.ts';

/** A build whose commands run in containers. */
export interface ContainedBuild {
  /** The source's folder. Besides the scratch, its commands can write only this. */
  readonly workspace: string;
  /** A folder to create, for the commands' caches and temporary files. */
  readonly scratch: string;
  /** The memory of a command, in bytes. */
  readonly memoryBytes: number;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

interface ContainedShellOptions extends ContainedBuild {
  readonly docker: Docker;
  readonly image: string;
  /** Makes the outbound proxy of one container. */
  readonly egress: () => Server;
  readonly owner: ContainerOwner;
  /** Called with the name of a container that could not be removed. */
  readonly onNotRemoved: (name: string) => void;
}

/** Under contention a build gets half of what an agent gets by default. */
const BUILD_CPU = 0.5;

/**
 * Makes a shell whose commands run in containers, one for each, that reach nothing but the source's folder and the
 * platform's proxy. The containers outlive a killed platform: `removeLeft` finds them by their labels.
 * @throws AgentStartError if there is no engine or image.
 */
export async function openContainedShell(options: ContainedShellOptions): Promise<Shell> {
  const { docker, image, scratch, signal } = options;
  await requireEngine(docker, signal);
  await haveImage(docker, image, options.log, signal);
  const { user, owner } = await userOfBuild(docker, signal);
  await mkdir(scratch);
  if (owner !== undefined) await chown(scratch, owner.uid, owner.gid);
  return {
    place: `containers of ${image} (SLIPWAY_AGENT_IMAGE)`,
    env: containedBuildEnvironment(),
    owner,
    run: (command) => runInContainer(options, command, user),
  };
}

/** The user of a build's commands, in the container's numbers, and in this machine's if that is another than ours. */
async function userOfBuild(
  docker: Docker,
  signal: AbortSignal,
): Promise<{ readonly user: string; readonly owner?: typeof NOBODY }> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (uid === 0) return { user: `${NOBODY.uid}:${NOBODY.gid}`, owner: NOBODY };
  const { isRootless } = await readEngine(docker, signal);
  return { user: isRootless ? '0:0' : `${uid}:${gid}` };
}

async function runInContainer(
  { docker, image, egress, owner, workspace, scratch, memoryBytes, onNotRemoved }: ContainedShellOptions,
  { command, cwd, env, timeoutMs, signal, onLine, watch }: ShellCommand,
  user: string,
): Promise<CommandEnd> {
  const name = nameOf(owner);
  const sockets = await openEgressSocket(egress(), owner);
  let last = 'it printed nothing';
  try {
    const run = await docker({
      ...runCall({
        name,
        image,
        owner,
        env,
        cores: undefined,
        attached: true,
        hardened: true,
        network: 'none',
        resources: { cpu: BUILD_CPU, memory_limit_mb: Math.ceil(memoryBytes / 1024 ** 2) },
        program: {
          command: commandInContainer(SOCKETS.folder, command),
          cwd,
          readOnly: { ...inPlace(placesOfPrograms()), [SOCKETS.folder]: sockets.folder },
          writable: { [workspace]: workspace, [CONTAINED_HOME]: scratch },
          user,
        },
      }),
      timeoutMs,
      signal,
      watch: watch && ((_, stop) => watch(undefined, stop)),
      onLine: (line, cut) => {
        last = line;
        onLine(line, cut, 'stdout');
      },
    });
    if (run.end.kind === 'exited') await requireEnd(docker, { name, command, code: run.end.code, last });
    return run.end;
  } finally {
    const { code } = await removeContainers(docker, [name]);
    if (code !== 0) onNotRemoved(name);
    await sockets.close();
  }
}

/** The docker command also ends if the engine does, so the engine confirms the end. @throws AgentStartError */
async function requireEnd(
  docker: Docker,
  { name, command, code, last }: { name: string; command: string; code: number; last: string },
): Promise<void> {
  const state = await docker({
    args: ['inspect', '--format', '{{.State.Status}} {{.State.ExitCode}}', name],
  });
  const [status = '', exitCode] = (state.stdout.at(-1) ?? '').split(' ');
  if (/^(exited|stopped)$/.test(status) && Number(exitCode) === code) return;
  const neverRan =
    status === 'created' || state.stderr.some((line) => /no such (object|container)/i.test(line));
  const cause = neverRan
    ? `The container of the command \`${command}\` could not be started: ${last}.`
    : `The container engine stopped answering while \`${command}\` ran (${status === '' ? lastWords(state) : last}). Start it, and redeploy the revision.`;
  throw new AgentStartError({ kind: 'container', cause }, []);
}
