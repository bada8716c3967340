/**
 * What must not be accepted by the endpoints that the contract has no bodies for: the platform's own decisions, written
 * down by hand from their documentation. As `contractRules.ts` does, it names what is forbidden and nothing else.
 */
type Fields = Readonly<Record<string, unknown>>;
type Test = (value: unknown) => boolean;

const isText: Test = (value) => typeof value === 'string';
const isWord =
  (...words: string[]): Test =>
  (value) =>
    words.includes(value as string);
const isUuid: Test = (value) =>
  typeof value === 'string' && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu.test(value);
const isCount =
  (least: number, most: number): Test =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
const isMoment: Test = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const isListOf =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every((each) => test(each));
const orNone =
  (test: Test): Test =>
  (value) =>
    value == null || test(value);
/** Where a secret is; never the secret itself. */
const isPlace: Test = (value) => typeof value === 'string' && /^(?:env:|file:\/)/u.test(value);
const isComputeConfig: Test = (value) =>
  isFields(value) && orNone(isListOf(isText))(value['cluster_namespaces']);

const LOGS: Readonly<Record<string, Test>> = {
  order: (value) => value === undefined || isWord('asc', 'desc')(value),
  limit: (value) => value === undefined || isCount(1, 1_000)(value),
  query: orNone(isText),
  start_time: orNone(isMoment),
  end_time: orNone(isMoment),
};
const UPLOAD: Readonly<Record<string, Test>> = { content_length: orNone(isCount(1, 209_715_200)) };

/** By endpoint: what each field has to be. */
const BODIES: Readonly<Record<string, Readonly<Record<string, Test>>>> = {
  createListener: {
    compute_type: isWord('cluster', 'docker'),
    compute_id: isText,
    compute_config: isComputeConfig,
    version: orNone(isText),
  },
  patchListener: { compute_config: orNone(isComputeConfig), version: orNone(isText) },
  createIntegration: {
    name: isText,
    url_prefix: isText,
    username: orNone(isText),
    credential: orNone(isPlace),
    webhook_secret: orNone(isPlace),
  },
  createApiKey: {
    name: isText,
    scope: isWord('read', 'deploy', 'admin'),
    expires_at: orNone((value) => isMoment(value) && Date.parse(value as string) > Date.now()),
    tenant_ids: orNone(isListOf(isUuid)),
  },
  getBuildLogs: LOGS,
  getDeployLogs: LOGS,
  getProjectDeployLogs: LOGS,
  createUploadUrl: UPLOAD,
  createUploadUrlVersioned: UPLOAD,
};

/** Where a body breaks the rules of an endpoint; nothing where it may be accepted. An absent body may stand for `{}`. */
export function forbiddenInOwn(endpoint: string, body: unknown): string[] {
  const rules = BODIES[endpoint];
  if (rules === undefined || body === undefined) return [];
  if (!isFields(body)) return ['body'];
  const broken = Object.entries(rules).flatMap(([field, test]) =>
    test(body[field]) ? [] : [`body.${field}`],
  );
  const config = body['compute_config'];
  const namespaces = isFields(config) ? config['cluster_namespaces'] : undefined;
  const isForeign = body['compute_type'] === 'docker' && Array.isArray(namespaces) && namespaces.length > 0;
  return isForeign ? [...broken, 'body.compute_config.cluster_namespaces'] : broken;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
