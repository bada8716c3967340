/** A place for artifacts and records in S3, or in a service with its protocol. It never contains credentials. */
export interface S3Place {
  readonly bucket: string;
  /** The prefix of every key: segments, each followed by `/`; may be empty. */
  readonly prefix: string;
  /** The service's address. Default: AWS, or the SDK's own settings. */
  readonly endpoint?: string;
  /** Default: the SDK's own settings. */
  readonly region?: string;
  /** Whether the bucket is in the path (`true`) or in the host. Default: as the SDK decides. */
  readonly pathStyle?: boolean;
}

/** The region that most S3-compatible servers accept if they do not use regions. */
const REGION_OF_ENDPOINTS = 'us-east-1';
const QUERY_FIELDS: readonly string[] = ['endpoint', 'region', 'pathStyle'];

/** The scheme of a store's URL in lower case; `undefined` for a path. One letter and a colon is a Windows drive. */
export function storeScheme(store: string): string | undefined {
  return /^([A-Za-z][A-Za-z0-9+.-]+):/.exec(store)?.[1]?.toLowerCase();
}

/**
 * What is wrong with the setting of an artifact store: a folder, a `file:` URL, or
 * `s3://BUCKET/PREFIX?endpoint=…&region=…&pathStyle=…`. It never quotes the setting, which may contain a secret.
 */
export function storeUrlProblem(store: string): string | undefined {
  const scheme = storeScheme(store);
  if (scheme === undefined) return undefined;
  if (scheme === 'file') return isFileUrl(store) ? undefined : 'expected file:///FOLDER';
  if (scheme !== 's3')
    return `expected a folder, or a file: or s3: URL; there is no artifact store for "${scheme}:" URLs`;
  const place = readS3Url(store);
  return typeof place === 'string' ? place : undefined;
}

/** Reads an `s3:` URL; a text says what is wrong with it. With an `endpoint`, the default region is `us-east-1`. */
export function readS3Url(text: string): S3Place | string {
  const url = parse(text);
  if (url === undefined) return 'expected s3://BUCKET/PREFIX';
  if (url.username !== '' || url.password !== '') {
    return 'must not carry credentials; they come from the AWS SDK’s own settings';
  }
  if (url.hostname === '' || url.port !== '' || url.hash !== '') return 'expected s3://BUCKET/PREFIX';
  const unknown = [...url.searchParams.keys()].find((name) => !QUERY_FIELDS.includes(name));
  if (unknown !== undefined) return `expected ${QUERY_FIELDS.join(', ')} after the "?", and nothing else`;
  const endpoint = url.searchParams.get('endpoint') ?? undefined;
  const problem = endpoint === undefined ? undefined : endpointProblem(endpoint);
  if (problem !== undefined) return problem;
  const pathStyle = url.searchParams.get('pathStyle') ?? undefined;
  if (pathStyle !== undefined && pathStyle !== 'true' && pathStyle !== 'false')
    return 'pathStyle: expected true or false';
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  if (!isDecodable(url.pathname) || segments.includes('.') || segments.includes('..'))
    return 'expected s3://BUCKET/PREFIX';
  const region = url.searchParams.get('region') ?? (endpoint === undefined ? undefined : REGION_OF_ENDPOINTS);
  return {
    bucket: url.hostname,
    prefix: segments.map((segment) => `${decodeURIComponent(segment)}/`).join(''),
    endpoint,
    region,
    pathStyle: pathStyle === undefined ? (endpoint === undefined ? undefined : true) : pathStyle === 'true',
  };
}

/** The URL of a place in S3. The same place always has the same URL. */
export function s3Url({ bucket, prefix, endpoint, region, pathStyle }: S3Place): string {
  const path = prefix.split('/').map(encodeURIComponent).join('/').replace(/\/$/, '');
  const query = new URLSearchParams();
  if (endpoint !== undefined) query.set('endpoint', endpoint);
  if (region !== undefined) query.set('region', region);
  if (pathStyle !== undefined) query.set('pathStyle', String(pathStyle));
  const search = query.toString();
  return `s3://${bucket}${path === '' ? '' : `/${path}`}${search === '' ? '' : `?${search}`}`;
}

function endpointProblem(endpoint: string): string | undefined {
  const url = parse(endpoint);
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'endpoint: expected an http or https URL';
  if (url.username !== '' || url.password !== '') return 'endpoint: must not carry credentials';
  return undefined;
}

/** Whether every system reads a `file:` URL as the same path. */
function isFileUrl(text: string): boolean {
  const url = parse(text);
  return (
    url !== undefined && url.hostname === '' && isDecodable(url.pathname) && !/%2f|%00/i.test(url.pathname)
  );
}

/** Whether each `%` in a URL's path starts a valid character. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function parse(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
