// Temporal's client in the bundle of the command. From node_modules it is 220 files and the description of every call to
// Temporal and its cloud: most of what a command that asks Temporal would do before its first call.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runInNewContext } from 'node:vm';

import protobuf from 'protobufjs/light.js';

import { PACKAGES, ROOT } from '../freshness.mjs';
import { loadedByRequire } from './plugins.mjs';

const PACKAGES_OF_CLIENT = /^(@temporalio\/(client|common|envconfig)(\/.*)?|@grpc\/grpc-js)$/;
/** What runs in a worker asks with the client of `@temporalio/worker`, and needs the classes of that copy. */
const OF_WORKER = /^(activities\/|worker\.js$|temporal\/createWorkers\.js$|cli\/commands\/worker\/)/;
/** The command's modules: in `dist`, but not its bundles. */
const MODULES = /^(activities|cli|dashboard|domain|inspection|rehearsal|temporal)\/.*\.js$/;

/** Leaves the client outside for the modules of the worker, and bundles it for all others with the calls that are used. */
export function temporalClient() {
  const { dist } = PACKAGES.slipway;
  return [
    loadedByRequire(PACKAGES_OF_CLIENT, (importer) => OF_WORKER.test(relative(dist, importer))),
    {
      name: 'used-calls',
      setup(build) {
        build.onLoad({ filter: /@temporalio\/proto\/protos\/json-module\.js$/ }, ({ path }) => {
          const calls = describedCalls(readFileSync(path, 'utf8'));
          dropUnused(calls, join(ROOT, 'node_modules/@temporalio/client/lib'), dist);
          // Throws if a message that is left refers to one that is not.
          new protobuf.Root().addJSON(structuredClone(calls)).resolveAll();
          // V8 reads JSON in less time than code.
          const json = JSON.stringify(JSON.stringify(calls));
          const contents = `const { Root } = require('protobufjs/light'); module.exports = new Root().addJSON(JSON.parse(${json}));`;
          return { contents, loader: 'js' };
        });
      },
    },
  ];
}

/** The argument of `addJSON`, as the generator of protobufjs writes it. */
function describedCalls(code) {
  const argument = /\.addJSON\((\{[^]*\})\);/.exec(code)?.[1];
  if (argument === undefined) throw new Error('@temporalio/proto describes its calls in another way.');
  return runInNewContext(`(${argument})`);
}

/** Drops what only workers and Temporal Cloud use, and each call, with its messages, whose name the client and we never write. */
function dropUnused(described, client, dist) {
  delete described.coresdk;
  const api = described.temporal.nested.api.nested;
  delete api.cloud;
  const { nested: types } = api.workflowservice.nested.v1;
  const { methods } = types.WorkflowService;
  const ours = filesIn(dist).filter((path) => MODULES.test(relative(dist, path)));
  const code = [...filesIn(client), ...ours].map((path) => readFileSync(path, 'utf8')).join('\n');
  const unused = Object.entries(methods).filter(
    ([name]) => !code.includes(`${name[0].toLowerCase()}${name.slice(1)}`),
  );
  for (const [name] of unused) delete methods[name];
  for (const message of unused.flatMap(([, { requestType, responseType }]) => [requestType, responseType])) {
    const { [message]: dropped, ...rest } = types;
    // Some are fields of others: a started workflow may come with its first task.
    if (dropped !== undefined && !new RegExp(`[".]${message}"`).test(JSON.stringify(rest)))
      delete types[message];
  }
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
