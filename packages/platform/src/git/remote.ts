import type { GitUrl } from './gitUrl.ts';

/** A repository, and what opens it. */
export interface Remote {
  readonly url: GitUrl;
  /** Null where it is open to everybody, or a repository on this machine's own disk. */
  readonly credential: Credential | null;
}

/** A credential itself. It lives as short as one call of git: nothing keeps it, nothing logs it. */
export interface Credential {
  /** For `https` and `http`; ssh takes the user of the address. */
  readonly username: string;
  /** A token or a password; for `ssh` a private key without a passphrase. */
  readonly secret: string;
}
