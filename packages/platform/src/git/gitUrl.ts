/** The supported protocols. `file` is a repository on the platform's disk. */
const PROTOCOLS = ['https', 'http', 'ssh', 'file'] as const;

/** The address of a git repository, or a prefix of addresses. */
export interface GitUrl {
  readonly protocol: (typeof PROTOCOLS)[number];
  /** In lower case; empty for `file`. */
  readonly host: string;
  /** As written; empty if absent. */
  readonly port: string;
  /** The login user of `ssh`; empty for all others. */
  readonly user: string;
  readonly path: readonly string[];
  /** The address for git. */
  readonly text: string;
}

/** A parsed address; or why it cannot be used, as the end of a sentence. */
export type GitUrlReading =
  { readonly ok: true; readonly url: GitUrl } | { readonly ok: false; readonly why: string };

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
/** `git@host:path`: git's abbreviation for ssh. */
const SCP_LIKE = /^(?<user>\w[\w.-]*)@(?<host>\w[\w.-]*):(?!\/\/)(?<path>.+)$/;

/**
 * Parses the address of a repository: `https://…`, `ssh://user@host/…`, `user@host:…`, `file:///…` or an absolute
 * path; `http://…` only on loopback, where no other machine can listen. git's other forms are refused (`git://`, and
 * remote helpers like `name::…`, which run programs). Ambiguous addresses are refused too: segments with `..`,
 * encoded slashes, control characters, and a user or password in an `http` address, where a credential never belongs.
 */
export function readGitUrl(text: string): GitUrlReading {
  if (/[\u0000-\u0020\u007f\\]/.test(text))
    return { ok: false, why: 'has blanks, control characters or backslashes' };
  if (text.startsWith('-')) return { ok: false, why: 'begins with a hyphen' };
  if (text.startsWith('/')) return located({ protocol: 'file', host: '', port: '', user: '', text }, text);
  const scp = SCP_LIKE.exec(text)?.groups;
  if (scp !== undefined) {
    const { user = '', host = '', path = '' } = scp;
    return located({ protocol: 'ssh', host: host.toLowerCase(), port: '', user, text }, path);
  }
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  const protocol = PROTOCOLS.find((name) => parsed?.protocol === `${name}:`);
  if (parsed === undefined || protocol === undefined) {
    return { ok: false, why: 'is neither https://…, ssh://…, user@host:…, file:///… nor an absolute path' };
  }
  const { hostname, port, username, password, search, hash } = parsed;
  if (search !== '' || hash !== '') return { ok: false, why: 'has a query or a fragment' };
  if (password !== '' || (username !== '' && protocol !== 'ssh')) {
    return { ok: false, why: 'carries a user or a password: credentials belong in an integration' };
  }
  if ((hostname === '') !== (protocol === 'file'))
    return { ok: false, why: 'has no host, or one that is not allowed' };
  if (hostname.startsWith('-') || username.startsWith('-'))
    return { ok: false, why: 'has a name that begins with a hyphen' };
  if (protocol === 'http' && !LOOPBACK.has(hostname)) {
    return { ok: false, why: 'is http beyond this machine: use https' };
  }
  // Not the parser's path, which has already resolved what is refused here.
  const rest = text.slice(text.indexOf('//') + 2);
  const path = rest.includes('/') ? rest.slice(rest.indexOf('/')) : '';
  return located({ protocol, host: hostname.toLowerCase(), port, user: username, text }, path);
}

function located(url: Omit<GitUrl, 'path'>, path: string): GitUrlReading {
  const names = path.split('/').filter((name) => name !== '');
  if (names.some((name) => /^(\.|%2e){1,2}$/i.test(name)))
    return { ok: false, why: 'has "." or ".." in its path' };
  if (/%(2f|5c|00|0a|0d)/i.test(path)) return { ok: false, why: 'has encoded slashes or control characters' };
  return { ok: true, url: { ...url, path: names } };
}

/**
 * Whether a repository is under a prefix: the same protocol, host, port and user, and a path that begins with the
 * prefix's whole segments. `https://host/acme` is a prefix of `https://host/acme/agent`, but not of
 * `https://host/acme-2/x`.
 */
export function isUnder(prefix: GitUrl, url: GitUrl): boolean {
  return (
    prefix.protocol === url.protocol &&
    prefix.host === url.host &&
    prefix.port === url.port &&
    prefix.user === url.user &&
    prefix.path.every((name, index) => url.path[index] === name)
  );
}

/** The same for all addresses of a repository: host and path without `.git`. For recognition, never permissions. */
export function repositoryIdentity({ host, path }: GitUrl): string {
  return [host, ...path]
    .join('/')
    .replace(/\.git$/i, '')
    .toLowerCase();
}

export interface Remote {
  readonly url: GitUrl;
  /** Null for a public repository, or one on this machine's disk. */
  readonly credential: Credential | null;
}

/** A credential. It exists only during one call of git, and is neither stored nor logged. */
export interface Credential {
  /** For `https` and `http`; ssh uses the address's user. */
  readonly username: string;
  /** A token or a password; for `ssh` a private key without a passphrase. */
  readonly secret: string;
}
