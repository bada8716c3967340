/**
 * The rules of contract 000, written by hand from its tables: what a control plane must not accept. They are
 * independent of the platform's schemas, so that they do not repeat the schemas' mistakes. They contain only what the
 * contract forbids, and none of the platform's own bounds.
 */
type Json = unknown;
type Fields = Readonly<Record<string, Json>>;
/** A rule for a value that is neither null nor absent. Returns the places that break it. */
type Rule = (value: Json, place: string) => string[];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/u;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/u;

const holds =
  (test: (value: Json) => boolean): Rule =>
  (value, place) =>
    test(value) ? [] : [place];
const text = holds((value) => typeof value === 'string');
const flag = holds((value) => typeof value === 'boolean');
const uuid = holds((value) => typeof value === 'string' && UUID.test(value));
const count = holds((value) => Number.isInteger(value));
const amount = holds((value) => typeof value === 'number');
const word = (...words: string[]): Rule => holds((value) => words.includes(value as string));
const within = (least: number, most: number): Rule =>
  holds((value) => typeof value === 'number' && value >= least && value <= most);
const matching = (pattern: RegExp): Rule =>
  holds((value) => typeof value === 'string' && pattern.test(value));
const freeForm = holds(isFields);

const listOf =
  (rule: Rule): Rule =>
  (value, place) =>
    Array.isArray(value) ? value.flatMap((each: Json, index) => rule(each, `${place}.${index}`)) : [place];
const textByText: Rule = (value, place) =>
  isFields(value) ? Object.entries(value).flatMap(([name, each]) => text(each, `${place}.${name}`)) : [place];
/** An object: `required` fields are present, `optional` ones may be null. */
const fields =
  (required: Readonly<Record<string, Rule>>, optional: Readonly<Record<string, Rule>> = {}): Rule =>
  (value, place) => {
    if (!isFields(value)) return [place];
    const broken = Object.entries(required).flatMap(([name, rule]) => rule(value[name], `${place}.${name}`));
    for (const [name, rule] of Object.entries(optional)) {
      if (value[name] != null) broken.push(...rule(value[name], `${place}.${name}`));
    }
    return broken;
  };

function isFields(value: Json): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const VOLUME_MOUNT = fields(
  { name: text, mountPath: text },
  { subPath: text, mountPropagation: text, readOnly: flag, subPathExpr: text },
);
const ENV_VAR: Rule = (value, place) => [
  ...fields({ name: matching(IDENTIFIER) }, { value: text, valueFrom: freeForm })(value, place),
  ...(isFields(value) &&
  typeof value['value'] === 'string' &&
  value['value'] !== '' &&
  value['valueFrom'] != null
    ? [`${place}.valueFrom`]
    : []),
];
const CONTAINER = fields(
  { name: matching(DNS_LABEL), image: text },
  {
    imagePullPolicy: word('Always', 'Never', 'IfNotPresent'),
    command: listOf(text),
    args: listOf(text),
    workingDir: text,
    env: listOf(ENV_VAR),
    envFrom: listOf(freeForm),
    resources: fields({}, { limits: textByText, requests: textByText }),
    volumeMounts: listOf(VOLUME_MOUNT),
    securityContext: freeForm,
    restartPolicy: word('Always', 'OnFailure'),
  },
);
const VOLUME = fields(
  { name: matching(DNS_LABEL) },
  Object.fromEntries(
    [
      'configMap',
      'secret',
      'emptyDir',
      'persistentVolumeClaim',
      'nfs',
      'projected',
      'downwardAPI',
      'csi',
    ].map((kind) => [kind, freeForm]),
  ),
);

const named = (names: readonly string[], rule: Rule): Record<string, Rule> =>
  Object.fromEntries(names.map((name) => [name, rule]));

const SPEC = fields(
  {},
  {
    ...named(['cpu', 'queue_cpu', 'cache_cpu'], within(0.1, 8)),
    ...named(['cpu_limit', 'queue_cpu_limit', 'cache_cpu_limit'], within(0.1, 16)),
    ...named(
      [
        'orchestrator_cpu',
        'orchestrator_cpu_limit',
        'executor_cpu',
        'executor_cpu_limit',
        'db_cpu',
        'db_cpu_limit',
      ],
      amount,
    ),
    ...named(
      [
        ...['', 'queue_', 'orchestrator_'].flatMap((part) => [`${part}min_scale`, `${part}max_scale`]),
        ...['', 'queue_', 'orchestrator_', 'executor_', 'cache_', 'db_'].flatMap((part) => [
          `${part}memory_mb`,
          `${part}memory_limit_mb`,
        ]),
        'db_storage_gi',
        'db_max_connections',
      ],
      count,
    ),
    labels: textByText,
    annotations: textByText,
    service_account_name: text,
    image_pull_secrets: listOf(fields({ name: text })),
    volumes: listOf(VOLUME),
    volume_mounts: listOf(VOLUME_MOUNT),
    init_containers: listOf(CONTAINER),
    sidecars: listOf(CONTAINER),
  },
);
const RESOURCE_SPEC: Rule = (value, place) => [...SPEC(value, place), ...volumeNames(value, place)];

/** "unique in the pod", "must match a Volume name". */
function volumeNames(spec: Json, place: string): string[] {
  if (!isFields(spec)) return [];
  const list = (value: Json): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);
  const volumes = list(spec['volumes']).map(({ name }) => name);
  const containers = [...list(spec['init_containers']), ...list(spec['sidecars'])];
  const mounts = [
    ...list(spec['volume_mounts']),
    ...containers.flatMap((container) => list(container['volumeMounts'])),
  ];
  return [
    ...(new Set(volumes).size < volumes.length ? [`${place}.volumes`] : []),
    ...(mounts.some(({ name }) => !volumes.includes(name)) ? [`${place}.volume_mounts`] : []),
  ];
}

const SOURCE_CONFIG: Readonly<Record<string, Rule>> = {
  integration_id: uuid,
  repo_url: text,
  deployment_type: word('dev_free', 'dev', 'prod'),
  build_on_push: flag,
  custom_url: text,
  resource_spec: RESOURCE_SPEC,
  listener_id: uuid,
  listener_config: fields({}, { cluster_namespace: text }),
  install_command: text,
  build_command: text,
};
const REVISION_CONFIG: Readonly<Record<string, Rule>> = named(
  ['repo_ref', 'graph_config_path', 'image_uri', 'source_tarball_path'],
  text,
);
const SECRETS = listOf(fields({ name: text, value: text }));
const REFERENCES = listOf(fields({ name: text, secret_name: text, secret_key: text }));

const ONLY_FOR: readonly (readonly [config: string, field: string, sources: readonly string[]])[] = [
  ...['integration_id', 'repo_url', 'deployment_type', 'build_on_push'].map(
    (field) => ['source_config', field, ['repo_host']] as const,
  ),
  ...['custom_url', 'resource_spec', 'listener_id', 'listener_config'].map(
    (field) => ['source_config', field, ['external_image']] as const,
  ),
  ['source_revision_config', 'repo_ref', ['repo_host']],
  ['source_revision_config', 'graph_config_path', ['repo_host', 'internal_source']],
  ['source_revision_config', 'image_uri', ['external_image', 'internal_image']],
  ['source_revision_config', 'source_tarball_path', ['internal_source']],
];

const IMMUTABLE = ['integration_id', 'repo_url', 'deployment_type', 'listener_id'];

/** Where a request to create a deployment breaks the contract; empty if it may be accepted. */
export function forbiddenInCreate(body: Json): string[] {
  const broken = fields(
    {
      name: text,
      source: word('repo_host', 'external_image', 'internal_image', 'internal_source'),
      source_config: fields({}, SOURCE_CONFIG),
      source_revision_config: fields({}, REVISION_CONFIG),
      secrets: SECRETS,
    },
    { secret_references: REFERENCES },
  )(body, 'body');
  if (broken.length > 0 || !isFields(body)) return broken;
  const source = body['source'] as string;
  const revision = body['source_revision_config'] as Fields;
  if (['repo_host', 'internal_source'].includes(source) && revision['graph_config_path'] == null) {
    broken.push('body.source_revision_config.graph_config_path');
  }
  // There can be no uploads for a deployment that does not exist.
  if (revision['source_tarball_path'] != null) broken.push('body.source_revision_config.source_tarball_path');
  return [...broken, ...foreign(source, body), ...tagRule(body['source_config'] as Fields, revision)];
}

/** Where a PATCH of a deployment (as it was returned) breaks the contract. `uploaded`: whether a path was uploaded. */
export function forbiddenInPatch(body: Json, current: Fields, uploaded: (path: string) => boolean): string[] {
  const broken = fields(
    {},
    {
      source_config: fields({}, SOURCE_CONFIG),
      source_revision_config: fields({}, REVISION_CONFIG),
      secrets: SECRETS,
      secret_references: REFERENCES,
    },
  )(body, 'body');
  if (broken.length > 0 || !isFields(body)) return broken;
  for (const name of ['name', 'source']) {
    if (body[name] != null && body[name] !== current[name]) broken.push(`body.${name}`);
  }
  const [config, revision] = [body, body].map(
    (from, index) => (from[index === 0 ? 'source_config' : 'source_revision_config'] ?? {}) as Fields,
  ) as [Fields, Fields];
  const before = current['source_config'] as Fields;
  for (const name of IMMUTABLE) {
    if (config[name] != null && !same(config[name], before[name])) broken.push(`body.source_config.${name}`);
  }
  const path = revision['source_tarball_path'];
  if (typeof path === 'string' && !uploaded(path))
    broken.push('body.source_revision_config.source_tarball_path');
  const merged = { build_on_push: config['build_on_push'] ?? before['build_on_push'] };
  const ref = revision['repo_ref'] ?? (current['source_revision_config'] as Fields)['repo_ref'];
  return [
    ...broken,
    ...foreign(current['source'] as string, body, current),
    ...tagRule(merged, { repo_ref: ref }),
  ];
}

/** Fields of another source. A field with an unchanged value is allowed, so that a deployment can be sent back. */
function foreign(source: string, body: Fields, current: Fields = {}): string[] {
  const at = (from: Fields, config: string, field: string): Json =>
    (from[config] as Fields | undefined)?.[field];
  const broken = ONLY_FOR.filter(([config, field, sources]) => {
    const value = at(body, config, field);
    return value != null && !sources.includes(source) && !same(value, at(current, config, field));
  }).map(([config, field]) => `body.${config}.${field}`);
  const references = body['secret_references'];
  const none = references == null || (Array.isArray(references) && references.length === 0);
  return none || source === 'external_image' ? broken : [...broken, 'body.secret_references'];
}

function tagRule(config: Fields, revision: Fields): string[] {
  const ref = revision['repo_ref'];
  const isTag = typeof ref === 'string' && ref.startsWith('refs/tags/');
  return isTag && config['build_on_push'] !== false ? ['body.source_config.build_on_push'] : [];
}

/** Uuids are compared without case. */
function same(left: Json, right: Json): boolean {
  const plain = (value: Json): string => JSON.stringify(value ?? null).toLowerCase();
  return plain(left) === plain(right);
}
