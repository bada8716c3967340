/** What a browser received. */
export interface Seen {
  readonly status: number;
  readonly url: URL;
  readonly text: string;
  readonly headers: Headers;
}

interface Sending {
  readonly method?: 'GET' | 'POST';
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The parts of a browser that signing in needs: cookies, redirects, forms, and their sender's headers. */
export class TestBrowser {
  /** By host and port, then by name. */
  readonly cookies = new Map<string, Map<string, string>>();
  readonly setCookies: string[] = [];

  /** Opens an address, and follows redirects until `stop` returns true. */
  async open(address: string | URL, stop: (url: URL) => boolean = () => false): Promise<Seen> {
    return await this.#follow(new URL(address), {}, stop);
  }

  /** Sends a form from a page of the same origin. */
  async submit(
    address: string | URL,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
    stop: (url: URL) => boolean = () => false,
  ): Promise<Seen> {
    const url = new URL(address);
    return await this.#follow(
      url,
      { method: 'POST', form, headers: { origin: url.origin, ...headers } },
      stop,
    );
  }

  /** Signs in and consents on the issuer's own pages, until the issuer redirects the browser. */
  async signInAtIssuer(page: Seen, login: string, stop?: (url: URL) => boolean): Promise<Seen> {
    let seen = page;
    for (let prompt = promptOf(seen); prompt !== undefined; prompt = promptOf(seen)) {
      // Its consent page ignores the other two.
      seen = await this.submit(seen.url, { prompt, login, password: 'any' }, {}, stop);
    }
    return seen;
  }

  async #follow(url: URL, sending: Sending, stop: (url: URL) => boolean): Promise<Seen> {
    const { method = 'GET', form, headers = {} } = sending;
    const cookies = [...(this.cookies.get(url.host) ?? [])].map(([name, value]) => `${name}=${value}`);
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: cookies.join('; '), ...headers },
      body: form === undefined ? undefined : new URLSearchParams(form),
    });
    for (const line of response.headers.getSetCookie()) this.#keep(url, line);
    const location = response.headers.get('location');
    const next = location === null ? undefined : new URL(location, url);
    if (next === undefined || stop(next)) {
      const text = await response.text();
      return { status: response.status, url: next ?? url, text, headers: response.headers };
    }
    await response.body?.cancel();
    return await this.#follow(next, {}, stop);
  }

  #keep(url: URL, line: string): void {
    this.setCookies.push(line);
    const { name = '', value = '' } = /^(?<name>[^=]+)=(?<value>[^;]*)/u.exec(line)?.groups ?? {};
    const kept = this.cookies.get(url.host) ?? new Map<string, string>();
    this.cookies.set(url.host, kept);
    if (value === '' || /;\s*max-age=0/iu.test(line)) kept.delete(name);
    else kept.set(name, value);
  }
}

/** The prompt of the issuer's own pages; `undefined` on other pages. */
function promptOf({ text }: Seen): string | undefined {
  return /name="prompt" value="(\w+)"/u.exec(text)?.[1];
}

/** A browser with which a person has signed in to a page at the issuer. */
export async function signedIn(page: { readonly url: string }, login: string): Promise<TestBrowser> {
  const browser = new TestBrowser();
  await browser.signInAtIssuer(await browser.open(`${page.url}/who`), login);
  return browser;
}
