import { z } from 'zod';

import { refuseAll, type ValidationIssue } from '../httpErrors.ts';
import { isRecord } from '../json.ts';
import { DeploymentFields, DeploymentPatch, validateCreate } from './deployment.ts';
import { BUILDABLE_SOURCES, PUBLIC_DEPLOYMENT_TYPES, PublicSourceConfig, valueAt } from './source.ts';

/** The names used on the wire: those of contract 000, or of the public API. */
export type Vocabulary = 'contract' | 'public';

/**
 * The two vocabularies, in one table. A place is a path in a deployment, a revision or a listener. Names not in the
 * table are the same in both. Only these places are translated, because secrets, annotations, volumes and a graph's
 * own values may contain the same words.
 */
export const VOCABULARY = {
  /** Fields: their place in the contract, and their last name in the public API. */
  fields: [
    { place: ['source_revision_config', 'graph_config_path'], public: 'langgraph_config_path' },
    { place: ['source_config', 'listener_config', 'cluster_namespace'], public: 'k8s_namespace' },
    { place: ['source_config', 'resource_spec', 'cache_cpu'], public: 'redis_cpu' },
    { place: ['source_config', 'resource_spec', 'cache_cpu_limit'], public: 'redis_cpu_limit' },
    { place: ['source_config', 'resource_spec', 'cache_memory_mb'], public: 'redis_memory_mb' },
    { place: ['source_config', 'resource_spec', 'cache_memory_limit_mb'], public: 'redis_memory_limit_mb' },
    { place: ['compute_config', 'cluster_namespaces'], public: 'k8s_namespaces' },
  ],
  /** Field values that differ. */
  values: [
    { place: ['source'], contract: 'repo_host', public: 'github' },
    { place: ['source'], contract: 'external_image', public: 'external_docker' },
    { place: ['source'], contract: 'internal_image', public: 'internal_docker' },
    { place: ['compute_type'], contract: 'cluster', public: 'k8s' },
  ],
  /** The default name of the graph configuration file. It is a file of the source, so it is never translated. */
  graphConfigFile: { contract: 'graph.json', public: 'langgraph.json' },
  /** The node's name in the metadata of a streamed message (contract 001); our Run API returns both. */
  messageNode: { contract: 'graph_node', public: 'langgraph_node' },
} as const satisfies {
  fields: readonly { place: readonly string[]; public: string }[];
  values: readonly { place: readonly string[]; contract: string; public: string }[];
  graphConfigFile: Record<Vocabulary, string>;
  messageNode: Record<Vocabulary, string>;
};

/** Translates a deployment, a revision, a listener, a list of them, or a request about one to the other vocabulary. */
export function translateResource(resource: unknown, to: Vocabulary): unknown {
  if (isRecord(resource) && Array.isArray(resource['resources'])) {
    return { ...resource, resources: resource['resources'].map((each) => translateResource(each, to)) };
  }
  let translated = resource;
  for (const row of FIELDS) {
    translated = updateAt(translated, row.parents, (holder) =>
      renameField(holder, row[OTHER_VOCABULARY[to]], row[to]),
    );
  }
  for (const row of VOCABULARY.values) {
    const [name] = row.place;
    translated = updateAt(translated, [], (holder) =>
      holder[name] === row[OTHER_VOCABULARY[to]] ? { ...holder, [name]: row[to] } : holder,
    );
  }
  return translated;
}

const OTHER_VOCABULARY = { contract: 'public', public: 'contract' } as const satisfies Record<
  Vocabulary,
  Vocabulary
>;

/** The fields of the table: their parents, and their name in each vocabulary. */
const FIELDS = VOCABULARY.fields.map(({ place, public: name }) => ({
  parents: place.slice(0, -1),
  contract: place.at(-1) ?? '',
  public: name,
}));

/** A request's name of one vocabulary: its place, and its spelling. */
interface VocabularyName {
  readonly place: readonly string[];
  readonly name: string;
}

/** The names in a request that only one vocabulary has, by vocabulary. Most requests have none. */
function findVocabularyNames(request: unknown): Readonly<Record<Vocabulary, readonly VocabularyName[]>> {
  const found: Record<Vocabulary, VocabularyName[]> = { contract: [], public: [] };
  for (const vocabulary of ['contract', 'public'] as const) {
    for (const row of FIELDS) {
      const name = row[vocabulary];
      const place = [...row.parents, name];
      if (valueAt(request, place) !== undefined) found[vocabulary].push({ place, name });
    }
    for (const row of VOCABULARY.values) {
      const name = row[vocabulary];
      if (valueAt(request, row.place) === name) found[vocabulary].push({ place: row.place, name });
    }
  }
  return found;
}

/** Validation issues of a request, in the request's own names. Messages never repeat a sent value. */
export function translateIssues(issues: readonly ValidationIssue[], to: Vocabulary): ValidationIssue[] {
  return issues.map((issue) => ({
    ...issue,
    loc: translateLocation(issue.loc, to),
    msg: issue.msg.replaceAll(WORD, (word) => TRANSLATIONS[to].get(word) ?? word),
  }));
}

const WORD = /\w+/gu;

/** Every name of the table, from one vocabulary to the other, except `cluster`, which is also a word of sentences. */
const TRANSLATIONS: Readonly<Record<Vocabulary, ReadonlyMap<string, string>>> = {
  contract: translationsTo('contract'),
  public: translationsTo('public'),
};

function translationsTo(to: Vocabulary): ReadonlyMap<string, string> {
  const sources = VOCABULARY.values.filter(({ place }) => place[0] === 'source');
  return new Map([...FIELDS, ...sources].map((row) => [row[OTHER_VOCABULARY[to]], row[to]]));
}

function translateLocation(loc: ValidationIssue['loc'], to: Vocabulary): ValidationIssue['loc'] {
  const row = FIELDS.find(
    (each) =>
      loc[each.parents.length + 1] === each[OTHER_VOCABULARY[to]] &&
      each.parents.every((part, index) => loc[index + 1] === part),
  );
  return row === undefined ? loc : loc.with(row.parents.length + 1, row[to]);
}

type Fields = Readonly<Record<string, unknown>>;

/** The value with the object at a path changed; the value itself if there is no object. */
function updateAt(value: unknown, path: readonly string[], change: (holder: Fields) => Fields): unknown {
  if (!isRecord(value)) return value;
  const [name, ...rest] = path;
  if (name === undefined) return change(value);
  const inner = value[name];
  const changed = updateAt(inner, rest, change);
  return changed === inner ? value : { ...value, [name]: changed };
}

/** The object with one field renamed, in the same order. */
function renameField(holder: Fields, from: string, into: string): Fields {
  return Object.fromEntries(
    Object.entries(holder).map(([name, value]) => [name === from ? into : name, value]),
  );
}

/**
 * The vocabulary of a request, determined by the names that only one of the two has. Decisions:
 * - `revision_source` is public: the contract has no such field.
 * - A `deployment_type` that only the public vocabulary has is public. So is any `deployment_type` with source
 *   `internal_source` and an empty `source_revision_config`: the public deploy command sends that, and the contract
 *   forbids both.
 * - A file's name decides nothing: `graph_config_path: langgraph.json` is valid in the contract.
 * - For a request with names of both, see {@link mixedVocabularyIssues}.
 *
 * `undefined`: the request is the same in both.
 */
export function vocabularyOfRequest(request: unknown): Vocabulary | undefined {
  const { contract, public: relative } = findVocabularyNames(request);
  if (contract.length > 0) return 'contract';
  if (relative.length > 0 || isPublicByShape(request)) return 'public';
  return undefined;
}

/**
 * The issues of a request that mixes the vocabularies: one for each name of the public API. Decision: it is refused,
 * because half of it would be ignored as unknown fields. Empty: it does not mix them.
 */
export function mixedVocabularyIssues(request: unknown): ValidationIssue[] {
  const { contract, public: relative } = findVocabularyNames(request);
  const [first] = contract;
  if (first === undefined) return [];
  return relative.map(({ place, name }) => ({
    loc: ['body', ...place],
    msg: `${name} is a name of the public vocabulary, and the request has ${first.name} of the contract's, too: use one`,
    type: 'vocabulary_mixed',
  }));
}

/** The issues of a request to a service with only the public vocabulary. Empty: none. */
export function contractNameIssues(request: unknown): ValidationIssue[] {
  return findVocabularyNames(request).contract.map(({ place, name }: VocabularyName) => ({
    loc: ['body', ...place],
    msg: `${name} is a name of the contract's vocabulary, which this control plane does not speak`,
    type: 'vocabulary_unknown',
  }));
}

function isPublicByShape(request: unknown): boolean {
  if (valueAt(request, ['revision_source']) !== undefined) return true;
  const type = valueAt(request, ['source_config', 'deployment_type']);
  if (PUBLIC_DEPLOYMENT_TYPES.some((each) => each === type)) return true;
  return (
    valueAt(request, ['source']) === 'internal_source' &&
    type != null &&
    JSON.stringify(valueAt(request, ['source_revision_config'])) === '{}'
  );
}

/** `POST /v2/deployments` by the contract's rules, except that every source may have `deployment_type`. */
export const TypedDeploymentCreate = DeploymentFields.extend({
  source_config: PublicSourceConfig,
}).superRefine((request, context) => refuseAll(context, validateCreate(request, isDeploymentType)));

/**
 * `POST /v2/deployments` from clients of the public API, in the contract's names ({@link fromPublicRequest}). It is
 * looser than `DeploymentCreate` where those clients leave out what the contract requires (measured: the public
 * deploy command). Decisions:
 * - `secrets` may be absent: none.
 * - `source_revision_config` may be empty: the graph configuration of a buildable source is then `langgraph.json`.
 * - `deployment_type` is accepted for every source, stored and returned. It has no effect on this platform.
 */
export const PublicDeploymentCreate = z.preprocess(withPublicDefaults, TypedDeploymentCreate);

/** `PATCH /v2/deployments/{deployment_id}` from clients of the public API, in the contract's names. */
export const PublicDeploymentPatch = DeploymentPatch.extend({ source_config: PublicSourceConfig.nullish() });

/**
 * Translates a request of the public vocabulary to the contract's names. Its `revision_source` ("override the source
 * for this revision") becomes `source`. Decision: a deployment has one source, so a different one is refused like any
 * other change of it.
 */
export function fromPublicRequest(request: unknown): unknown {
  return translateResource(withSource(request), 'contract');
}

/** The issues of a request that {@link fromPublicRequest} translated, in the request's own names. */
export function toPublicIssues(request: unknown, issues: readonly ValidationIssue[]): ValidationIssue[] {
  const translated = translateIssues(issues, 'public');
  if (!hasRevisionSource(request)) return translated;
  return translated.map((issue) =>
    issue.loc[1] === 'source' ? { ...issue, loc: issue.loc.with(1, 'revision_source') } : issue,
  );
}

function withSource(request: unknown): unknown {
  if (!hasRevisionSource(request)) return request;
  const { revision_source: source, ...rest } = request;
  return { ...rest, source };
}

function hasRevisionSource(request: unknown): request is { revision_source: unknown } {
  return typeof request === 'object' && request !== null && Object.hasOwn(request, 'revision_source');
}

function isDeploymentType(path: readonly string[]): boolean {
  return path.at(-1) === 'deployment_type';
}

function withPublicDefaults(request: unknown): unknown {
  if (!isRecord(request)) return request;
  const { secrets, source, source_revision_config: revision } = request;
  const withSecrets = { ...request, secrets: secrets ?? [] };
  const graphConfigPath = (revision as { graph_config_path?: unknown } | null | undefined)?.graph_config_path;
  if (typeof revision !== 'object' || revision === null || graphConfigPath != null) return withSecrets;
  if (typeof source !== 'string' || !BUILDABLE_SOURCES.includes(source)) return withSecrets;
  return {
    ...withSecrets,
    source_revision_config: { ...revision, graph_config_path: VOCABULARY.graphConfigFile.public },
  };
}
