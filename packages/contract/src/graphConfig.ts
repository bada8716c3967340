import { z } from 'zod';

import { NAME_MAX } from './limits.ts';
import { EnvironmentName, singleLineText, nonEmptyText, text } from './scalars.ts';

/** A source file, relative to the graph configuration, and its export: `./src/agent.ts:graph`. */
const GraphPath = nonEmptyText().regex(
  /^(?![/\\])(?![A-Za-z]:[/\\])(?!(?:[^:]*\/)?\.\.(?:\/|:))[^:\\]+:[\p{ID_Start}$_][\p{ID_Continue}$]*$/u,
  { error: 'Input should be "./file:export": a relative path without "..", a colon, and the exported name' },
);

/** A graph of the configuration, in either form, normalized to the object form. */
const GraphEntry = z.union([
  GraphPath.transform((path): { path: string; description?: string | undefined } => ({ path })),
  z.looseObject({ path: GraphPath, description: text().optional() }),
]);

/** The pages that may call the agent from a browser: the fields of the public file. */
export const CorsSettings = z.looseObject({
  allow_origins: z.array(nonEmptyText()).optional(),
  /** Must match the whole origin. */
  allow_origin_regex: nonEmptyText()
    .refine(isPattern, { error: 'Input should be a regular expression' })
    .optional(),
  allow_methods: z.array(nonEmptyText()).optional(),
  allow_headers: z.array(nonEmptyText()).optional(),
  allow_credentials: z.boolean().optional(),
  expose_headers: z.array(nonEmptyText()).optional(),
  /** In seconds. */
  max_age: z.number().optional(),
});
export type CorsSettings = z.infer<typeof CorsSettings>;

/**
 * The graph configuration file, `graph.json` (contract 000: `graph_config_path`). The contract shows no fields; these
 * are those of the public API's file, `langgraph.json`, which is read as well. `env` is a path to a file of
 * `NAME=value` lines, the variables themselves, or a list of names that the deployment's secrets must provide.
 *
 * Decision: fields that only the public file has (all of `http` but `cors`, `store`, `auth`, `ui`,
 * `dockerfile_lines`, `image_distro`, `api_version`, `python_version`, …) are kept and have no effect.
 */
export const GraphConfig = z.looseObject({
  graphs: z.record(singleLineText(NAME_MAX), GraphEntry).refine((graphs) => Object.keys(graphs).length > 0, {
    error: 'At least one graph must be named',
    params: { type: 'too_short' },
  }),
  env: z.union([nonEmptyText(), z.array(EnvironmentName), z.record(EnvironmentName, z.string())]).optional(),
  node_version: z
    .string()
    .regex(/^\d{1,3}(?:\.\d{1,5}){0,2}$/u, { error: 'Input should be a version of Node, such as "20"' })
    .optional(),
  dependencies: z.array(nonEmptyText()).optional(),
  http: z.looseObject({ cors: CorsSettings.nullish() }).nullish(),
});
export type GraphConfig = z.infer<typeof GraphConfig>;

function isPattern(source: string): boolean {
  try {
    return new RegExp(`^(?:${source})$`, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
