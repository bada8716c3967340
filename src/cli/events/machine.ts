import { z } from 'zod';

import { Count, event, maybe, openWords } from './fields.ts';

export const DevReady = event('ready', '`dev`: everything runs', {
  controlPlane: z.string(),
  temporal: z.string().describe('The address of Temporal'),
  temporalUi: z.string().nullable().describe('`null`: Temporal is somebody else’s'),
  dashboard: z.string().nullable().describe('`null`: there is none yet'),
  apiKey: z.string().describe('Of the control plane: keep it out of logs'),
});

export const Service = event('service', '`dev`: a service ended by itself, and is started again', {
  name: z.string(),
  state: z.enum(['died', 'restarted', 'not_restarted']),
  restartInMs: maybe(Count).describe('With `died`: when it is started again'),
  reason: maybe(z.string()).describe('With `not_restarted`: why not'),
});

export const Stopped = event(
  'stopped',
  'everything has ended: `dev`, and after Ctrl-C `demo` and `rehearse`',
  {},
);

export const PlatformReady = event('ready', '`platform`: it answers', {
  controlPlane: z.string(),
  apiKey: z.string().describe('Of the control plane: keep it out of logs'),
});

export const AgentReady = event('ready', '`agent`: it answers', { url: z.string() });

export const WorkerReady = event('ready', '`worker`: it polls', {
  taskQueue: z.string(),
  namespace: z.string(),
});

export const TookOver = event(
  'took_over',
  '`worker`: a step that a killed worker of the same home had begun is tried again at once',
  { workflowId: z.string(), activityType: z.string(), from: z.string().describe('The killed worker') },
);

export const Warning = event('warning', '`worker`: what killed workers had begun cannot be known', {
  message: z.string(),
});

export const InstallProgress = event('progress', 'while it works', { message: z.string() });

export const Installed = event('installed', 'Temporal is there', {
  path: z.string(),
  origin: openWords(['path', 'cache', 'download', 'go']).describe('Where it was found, or how it was got'),
});
