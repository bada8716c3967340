/** What of the resources a container is given. Cores and megabytes, as in contract 000, "ResourceSpec". */
export interface ContainerResources {
  readonly cpu?: number | null;
  readonly cpu_limit?: number | null;
  readonly memory_mb?: number | null;
  readonly memory_limit_mb?: number | null;
  readonly labels?: Readonly<Record<string, string>> | null;
}

/** What is to run. */
export interface ContainerRequest {
  readonly name: string;
  /** The image as the engine knows it. */
  readonly image: string;
  readonly owner: ContainerOwner;
  /** The variables of the container. Holds secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly resources: ContainerResources;
  /** Cores of the engine's machine: it refuses more. Undefined: not known. */
  readonly cores: number | undefined;
  /** Keeps it apart from the machine and from others (`--isolation container`). Default: as the engine has it. */
  readonly hardened?: boolean;
  /** A network of its own, by name; `none` for no network at all. Default: the engine's. */
  readonly network?: string;
  /** What runs in it, where that is not what its image says. */
  readonly program?: ContainerProgram;
}

/** A program from this machine's disk, in a container. */
interface ContainerProgram {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  /** Files and folders of this machine that it sees, under the same names; it can change none of them. */
  readonly readOnly: readonly string[];
  /** Folders that it may write in: this machine's, by where it sees them. */
  readonly writable: Readonly<Record<string, string>>;
}

/** The port that the image listens on, where no secret says otherwise: it is told in `PORT`. */
const DEFAULT_PORT = '8000';
/** A line of a file of variables is read up to 64 KiB. */
const LINE_MAX_BYTES = 60_000;
/** Variables by which a docker command finds itself and its engine: such a one cannot go through its environment. */
const READ_BY_DOCKER =
  /^(DOCKER_|XDG_|CONTAINER_HOST$|GO|LD_|SSL_CERT_|SSH_|OTEL_)|^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LANG|LANGUAGE|LC_\w+|TZ|NODE_EXTRA_CA_CERTS)$|_proxy$/i;

/** Names that a shell passes on. */
const IDENTIFIER = /^[A-Za-z_]\w*$/;

/** The port inside the container that the Run API is expected on: `PORT` of the secrets, or 8000. */
export function portOf(env: Readonly<Record<string, string>>): string {
  const named = env['PORT'];
  return named !== undefined && /^[1-9]\d{0,4}$/.test(named) && Number(named) <= 65_535
    ? named
    : DEFAULT_PORT;
}

/**
 * How the docker command is called for a container. No value of a variable is among the arguments: those that fit a
 * line come as a file, the others through the command's own environment.
 * @throws Error naming a variable that fits neither: a value of several lines under a name that the docker command
 *   itself reads, or that no shell passes on.
 */
export function runCall(request: ContainerRequest): {
  args: string[];
  env: Record<string, string>;
  input: string;
} {
  const { name, image, owner } = request;
  const port = portOf(request.env);
  const lines: string[] = [];
  const env: Record<string, string> = {};
  for (const [variable, value] of Object.entries({ ...request.env, PORT: port })) {
    if (fitsLine(variable, value)) lines.push(`${variable}=${value}\n`);
    else if (IDENTIFIER.test(variable) && !READ_BY_DOCKER.test(variable)) env[variable] = value;
    else
      throw new Error(
        `The secret ${variable} cannot be given to a container: under such a name only a value of one line, of less than 60,000 bytes, can be given, and none under a name that begins with #.`,
      );
  }
  const args = [
    'run',
    '--detach',
    ...['--name', name],
    ...labelArguments(owner),
    // A port of the engine's choice, for this machine only.
    ...(request.network === 'none' ? [] : ['--publish', `127.0.0.1::${port}`]),
    ...(request.network === undefined ? [] : ['--network', request.network]),
    ...(request.hardened === true ? HARDENED : []),
    ...programArguments(request.program),
    ...['--env-file', '/dev/stdin'],
    ...Object.keys(env).flatMap((variable) => ['--env', variable]),
    ...resourceArguments(
      request.hardened === true ? boundedResources(request.resources) : request.resources,
      request.cores,
    ),
    // It has been pulled already, or is not to be.
    ...['--pull', 'never'],
    image,
    ...(request.program?.command.slice(1) ?? []),
  ];
  return { args, env, input: lines.join('') };
}

/** A user that owns nothing: what a program from this machine's disk runs as. */
const NOBODY = '65532:65532';
/** How many processes and threads a container may have. */
const PIDS = '512';
/** What a container may hold where its `resource_spec` says nothing, in MB. */
const MEMORY_LIMIT_MB = 2_048;

/** What a container cannot do: change its root, have privileges or gain any, fork without end, fill the disk with logs. */
const HARDENED: readonly string[] = [
  '--read-only',
  ...['--tmpfs', '/tmp:rw,nosuid,nodev,size=512m'],
  ...['--cap-drop', 'ALL'],
  ...['--security-opt', 'no-new-privileges'],
  ...['--pids-limit', PIDS],
  ...['--log-driver', 'json-file', '--log-opt', 'max-size=10m'],
];

function boundedResources(resources: ContainerResources): ContainerResources {
  return { ...resources, memory_limit_mb: resources.memory_limit_mb || MEMORY_LIMIT_MB };
}

function programArguments(program: ContainerProgram | undefined): string[] {
  if (program === undefined) return [];
  const mounts = [
    ...program.readOnly.map((path) => `type=bind,source=${path},target=${path},readonly`),
    ...Object.entries(program.writable).map(([target, path]) => `type=bind,source=${path},target=${target}`),
  ];
  return [
    ...['--user', NOBODY],
    ...['--workdir', program.cwd],
    ...mounts.flatMap((mount) => ['--mount', mount]),
    ...['--entrypoint', program.command[0]],
  ];
}

function fitsLine(name: string, value: string): boolean {
  return !name.startsWith('#') && !/[\r\n]/.test(value) && Buffer.byteLength(name + value) < LINE_MAX_BYTES;
}

/**
 * Requests are what a container gets when there is not enough for all; limits are what it gets at most. Zero asks for
 * nothing, and limits nothing. More cores than there are would be refused.
 */
function resourceArguments(resources: ContainerResources, cores = Infinity): string[] {
  const { cpu, cpu_limit: cpuLimit, memory_mb: memory, memory_limit_mb: memoryLimit, labels } = resources;
  const args: string[] = [];
  if (cpu) args.push('--cpu-shares', String(Math.max(2, Math.round(cpu * 1024))));
  if (cpuLimit) args.push('--cpus', String(Math.min(cpuLimit, cores)));
  if (memory) args.push('--memory-reservation', `${Math.min(memory, memoryLimit || Infinity)}m`);
  if (memoryLimit) args.push('--memory', `${memoryLimit}m`);
  for (const [label, value] of Object.entries(labels ?? {})) {
    if (!label.startsWith(OWN_LABEL_PREFIX)) args.push('--label', `${label}=${value}`);
  }
  return args;
}

/** Whose container it is: written on it as labels, by which it is found again. */
export interface ContainerOwner {
  /** The platform: it keeps its name through restarts, and no other platform on the same engine has it. */
  readonly platform: string;
  /** The platform's process: another one has taken over from it when its containers are left behind. */
  readonly process: string;
  readonly deploymentId: string;
  readonly revisionId: string;
}

const LABELS = {
  platform: 'slipway.platform',
  process: 'slipway.process',
  deploymentId: 'slipway.deployment',
  revisionId: 'slipway.revision',
} as const satisfies Record<keyof ContainerOwner, string>;

/** The arguments that label a container. */
function labelArguments(owner: ContainerOwner): string[] {
  return (Object.keys(LABELS) as (keyof ContainerOwner)[]).flatMap((part) => [
    '--label',
    `${LABELS[part]}=${owner[part]}`,
  ]);
}

/** The arguments that let only a platform's containers through, with the process that each is of as its format. */
export function ofPlatformArguments(platform: string): string[] {
  return [
    '--filter',
    `label=${LABELS.platform}=${platform}`,
    '--format',
    `{{.ID}} {{.Label "${LABELS.process}"}}`,
  ];
}

/** Labels that begin so are the platform's own. */
const OWN_LABEL_PREFIX = 'slipway.';
