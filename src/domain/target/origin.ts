/** The origin of a URL, in one spelling: loopback names become 127.0.0.1. */
export function originOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/\.$/, '');
  return `${protocol}//${LOOPBACK.has(host) ? '127.0.0.1' : host}${port === '' ? '' : `:${port}`}`;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]', '[::ffff:7f00:1]']);

/** An origin, or all hosts of a domain: `https://agents.example.com`, `https://[fd00::1]:8443`, `https://*.example.com`. */
export const ORIGIN = /^https?:\/\/(?:\[[\da-fA-F:.]+\]|(?:\*\.)?[\w.-]+)(?::\d{1,5})?$/;

/** Whether a text is an {@link ORIGIN} whose host and port exist: `https://a:99999` has none. */
export function isOrigin(text: string): boolean {
  return ORIGIN.test(text) && URL.canParse(text.replace('*.', ''));
}

/** Whether a URL is within an {@link ORIGIN}. */
export function isWithin(url: string, allowed: string): boolean {
  const [scheme, domain] = allowed.split('*.');
  const origin = originOf(url);
  if (scheme === undefined || domain === undefined) return originOf(allowed) === origin;
  return origin.startsWith(scheme) && origin.endsWith(`.${domain}`);
}

/** An {@link ORIGIN} for people: `every https host below example.com`. */
export function originText(origin: string): string {
  const [, scheme, domain] = /^(https?):\/\/\*\.(.+)$/.exec(origin) ?? [];
  return scheme === undefined || domain === undefined ? origin : `every ${scheme} host below ${domain}`;
}

/** Why a secret that is sent to an {@link ORIGIN} could reach strangers; `undefined` if no reason is known. */
export function originProblem(origin: string): string | undefined {
  const [, scheme, wildcard, host = ''] = /^(https?):\/\/(\*\.)?(\[[^\]]+\]|[^:]+)/.exec(origin) ?? [];
  if (scheme === 'http' && !LOOPBACK.has(host)) return 'the key is sent without encryption: use https';
  if (wildcard === undefined) return undefined;
  if (!host.includes('.')) return `everybody can own a host below ${host}: name your own domain`;
  const provider = SHARED.has(host) ? host : REGIONAL.find((domain) => `.${host}`.endsWith(`.${domain}`));
  return provider === undefined
    ? undefined
    : `customers of ${provider} share this domain, and could receive the key: name your own host`;
}

/** Domains of providers that give each customer hosts directly below them. */
const SHARED: ReadonlySet<string> = new Set([
  ...['vercel.app', 'netlify.app', 'herokuapp.com', 'fly.dev', 'onrender.com', 'up.railway.app'],
  ...['appspot.com', 'web.app', 'firebaseapp.com', 'pages.dev', 'workers.dev', 'deno.dev'],
  ...['github.io', 'gitlab.io', 'ondigitalocean.app', 'cloudfront.net', 'azurewebsites.net'],
  ...['ngrok.io', 'ngrok.app', 'ngrok-free.app', 'trycloudflare.com'],
]);

/** The same, but also below the provider's regions. */
const REGIONAL = ['amazonaws.com', 'on.aws', 'run.app', 'azurecontainerapps.io', 'langgraph.app'];
