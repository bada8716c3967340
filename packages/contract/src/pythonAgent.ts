/** A graph of a graph configuration: its name, and where it is. */
export interface NamedGraph {
  readonly name: string;
  readonly path: string;
}

const PYTHON = /\.py:/;
const SCRIPT = /\.[cm]?[jt]sx?:/;

/**
 * The first graph of a graph configuration that is written in Python: its file says so, or the configuration has
 * `python_version` or `dependencies` and names no JavaScript or TypeScript. Undefined for other agents, and for what is
 * no graph configuration.
 */
export function pythonGraphOf(config: unknown): NamedGraph | undefined {
  if (!isObject(config) || !isObject(config['graphs'])) return undefined;
  const graphs = Object.entries(config['graphs']).map(([name, entry]): NamedGraph => {
    const path = isObject(entry) ? entry['path'] : entry;
    return { name, path: typeof path === 'string' ? path : '' };
  });
  const named = graphs.find(({ path }) => PYTHON.test(path));
  if (named !== undefined || graphs.some(({ path }) => SCRIPT.test(path))) return named;
  const isPython = config['python_version'] !== undefined || config['dependencies'] !== undefined;
  return isPython ? graphs[0] : undefined;
}

/** What is said of such a graph. */
export function pythonGraphText({ name, path }: NamedGraph): string {
  return `the graph "${name}" (${path}) is written in Python, and the platform that Slipway includes runs JavaScript and TypeScript agents`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
