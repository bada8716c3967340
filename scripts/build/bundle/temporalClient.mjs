// Temporal's client in the command's bundle. From node_modules it is 220 files and the description of every call to
// Temporal and its cloud. Loading them would be most of a command's work before its first call.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runInNewContext } from 'node:vm';

import protobuf from 'protobufjs/light.js';

import { filesIn, PACKAGES, ROOT } from '../freshness.mjs';
import { loadedByRequire } from './plugins.mjs';

const PACKAGES_OF_CLIENT = /^(@temporalio\/(client|common|envconfig|proto)(\/.*)?|@grpc\/grpc-js)$/;
/** Code in a worker uses the client of `@temporalio/worker`, and needs the classes of that copy. */
const OF_WORKER = /^(activities\/|worker\.js$|temporal\/createWorkers\.js$|cli\/commands\/worker\/)/;
/** The command's modules in `dist`, without its bundles. */
const MODULES = /^(activities|cli|dashboard|domain|inspection|rehearsal|temporal)\/.*\.js$/;

/** Keeps the client external for the worker's modules, and bundles it for all others with only the used calls. */
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
          // Throws if a kept message refers to a dropped one.
          new protobuf.Root().addJSON(structuredClone(calls)).resolveAll();
          // V8 parses JSON faster than code.
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

/** The parts of Temporal's client that Slipway does not use. They are loaded with the others. */
const UNUSED_CLIENTS = /\/(activity|nexus|task-queue)-client\.js$/;

/**
 * Drops what only workers and Temporal Cloud use, each call whose name appears neither in the used parts of the client nor
 * in our code, and then each message to which neither a call, nor another message, nor code refers.
 */
function dropUnused(described, client, dist) {
  delete described.coresdk;
  const api = described.temporal.nested.api.nested;
  delete api.cloud;
  const ours = filesIn(dist).filter((path) => MODULES.test(relative(dist, path)));
  const used = filesIn(client).filter((path) => path.endsWith('.js') && !UNUSED_CLIENTS.test(path));
  const code = [...used, ...ours].map((path) => readFileSync(path, 'utf8')).join('\n');
  const { methods } = api.workflowservice.nested.v1.nested.WorkflowService;
  for (const name of Object.keys(methods)) {
    if (!code.includes(`${name[0].toLowerCase()}${name.slice(1)}`)) delete methods[name];
  }
  const packages = [...packagesIn(described)];
  while (packages.map((types) => dropUnnamed(types, JSON.stringify(described), code)).includes(true));
}

/** The types of each package, by name. */
function* packagesIn(types) {
  yield types;
  for (const { nested, fields } of Object.values(types)) {
    if (nested !== undefined && fields === undefined) yield* packagesIn(nested);
  }
}

/**
 * Drops a package's annotations, and its messages that are named neither in the descriptions nor in code.
 * @returns whether there were any.
 */
function dropUnnamed(types, descriptions, code) {
  const unnamed = Object.keys(types).filter(
    (name) =>
      types[name].extend !== undefined ||
      (types[name].fields !== undefined &&
        !new RegExp(`"\\w*[tT]ype":"(?:[\\w.]+\\.)?${name}[."]`).test(descriptions) &&
        !code.includes(`.${name}`)),
  );
  for (const name of unnamed) delete types[name];
  return unnamed.length > 0;
}
