import { describe, expect, it } from 'vitest';

import { printStatus } from '../../../../src/cli/commands/status/status.ts';
import type { ChosenTarget } from '../../../../src/cli/commands/target/targetAccess.ts';
import type { Config } from '../../../../src/config/configSchema.ts';
import type { TargetView } from '../../../../src/messages/target.ts';
import { SlipwayError } from '../../../../src/domain/errors.ts';
import { keyMissing, PayloadCipher } from '../../../../src/temporal/codec/payloadCipher.ts';
import { EMPTY_TARGET } from '../../../../src/domain/target/targetState.ts';
import { answeringTemporal, grpcError } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';

const ENCRYPTED = {
  metadata: { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('old') },
};
const STARTED = { workflowExecutionStartedEventAttributes: { input: { payloads: [ENCRYPTED] } } };
const OTHER_KEY = new SlipwayError('SLIPWAY_PAYLOAD_UNREADABLE', 'a payload could not be decrypted');
const RECOVERING: TargetView = { state: EMPTY_TARGET, running: null, recovering: true };
const TO_NEW = { from: 'old', to: 'new' };
const ENDED = { outcome: 'released', reason: 'all is well', requestedBy: { who: 'cy' }, judgement: null };

const RELEASE = { releaseId: 'release-1', kind: 'release', requestKey: 'k', workflowId: 'release', to: null };
const VIEWS: Readonly<Record<string, unknown>> = {
  new: { state: EMPTY_TARGET, running: null },
  busy: { state: EMPTY_TARGET, running: RELEASE },
};

/** A Temporal with the targets "old", whose payloads' key is not here, "new", "busy" and "recovering". */
function temporalWith({ silent = false, promoting = [] as readonly string[] } = {}) {
  const temporal = answeringTemporal({
    workflowService: { getWorkflowExecutionHistory: () => Promise.resolve({}) },
    workflow: {
      list: ({ query }: { readonly query: string }) =>
        query.includes('promotion') ? promoting.map((workflowId) => ({ workflowId })) : [],
      getHandle: (id: string) => {
        return {
          describe: () =>
            Promise.resolve({
              runId: 'run',
              status: { name: /^promotion:.*:(sealed|other|later)$/.test(id) ? 'COMPLETED' : 'RUNNING' },
              memo: { serves: 'r1' },
              raw: id.endsWith(':stuck') ? { pendingWorkflowTask: { attempt: 3 } } : {},
            }),
          result: () =>
            id.endsWith(':sealed')
              ? Promise.reject(keyMissing(ENCRYPTED))
              : id.endsWith(':other')
                ? Promise.reject(OTHER_KEY)
                : Promise.resolve(ENDED),
          fetchHistory: () => Promise.resolve({ events: id === 'old' ? [STARTED] : [] }),
          query: () =>
            silent || id.endsWith(':stuck') || id === 'release'
              ? Promise.reject(grpcError('FAILED_PRECONDITION'))
              : Promise.resolve(VIEWS[id] ?? RECOVERING),
        };
      },
    },
  });
  const failed = { workflowTaskFailedEventAttributes: { failure: { message: 'it does not replay' } } };
  const getWorkflowExecutionHistoryReverse = () => Promise.resolve({ history: { events: [failed] } });
  Object.assign(temporal.connection.workflowService, { getWorkflowExecutionHistoryReverse });
  return { ...temporal, settings: { ...temporal.settings, codec: new PayloadCipher([]) } };
}

async function statusOf(
  names: readonly string[],
  temporal = temporalWith(),
  promotions: object = {},
  json = false,
) {
  const output = testOutput({ json });
  const config = { promotions } as Config;
  const context = { output, home: '/nowhere', environment: { KEY: 'key' } };
  const targets = names.map((name): ChosenTarget => {
    const spec = { name, controlPlane: 'http://127.0.0.1:1', deployment: name, apiKey: { from: 'env:KEY' } };
    return { name, spec, workflowId: name } as unknown as ChosenTarget;
  });
  const error = await printStatus(context, temporal, { config, targets }, 3).catch(
    (failure: unknown) => failure,
  );
  return { error, text: output.said.join('\n'), events: output.events };
}

describe('the status of several targets', () => {
  it('shows the others if no worker runs and the key of one is missing, and says so', async () => {
    const { error, text } = await statusOf(['old', 'new'], temporalWith({ silent: true }));
    expect(error).toMatchObject({ code: 'SLIPWAY_NO_WORKER', exitCode: 6 });
    expect(text).toMatch(/^old\n.*no worker of.*\n.*encrypted with the key "old".*\n.*serves {3}not known/);
    expect(text).toMatch(/\nnew\n.*no worker of.*\n {2}serves {3}revision r1, as the target last knew/);
  });

  it('asks the others if one cannot read its earlier state, and shows what serves there', async () => {
    const { error, text } = await statusOf(['recovering', 'new']);
    expect(error).toMatchObject({ code: 'SLIPWAY_TARGET_UNREADABLE', exitCode: 4 });
    expect(text).toMatch(
      /^recovering\n.*cannot answer yet.*\n {2}serves {3}revision r1, as the target last knew/,
    );
    expect(text).toMatch(/\nnew\n {2}serves .*\n {2}running {2}nothing/);
  });

  it.each([
    ['whose key is missing', 'sealed', 'SLIPWAY_PAYLOAD_KEY_MISSING', 1, 'encrypted with the key "old"'],
    ['whose key is another one', 'other', 'SLIPWAY_PAYLOAD_UNREADABLE', 1, 'could not be decrypted'],
    ['that is stuck', 'stuck', 'SLIPWAY_WORKFLOW_STUCK', 3, 'in a row: it does not replay'],
  ])('shows the promotions after one %s, and says so', async (_, name, code, exitCode, problem) => {
    const promotions = { [name]: TO_NEW, later: TO_NEW };
    const { error, text } = await statusOf(['new'], temporalWith(), promotions);
    expect(error).toMatchObject({ code, exitCode });
    expect(text).toMatch(new RegExp(`\\n${name}: old → new\\n.*${problem}.*\\n`));
    expect(text).toMatch(/\nlater: old → new\n.*released.*: all is well/);
  });

  it('shows a promotion that still runs to it, although the file has changed since', async () => {
    const at = 'promotion:http://127.0.0.1:1';
    const promoting = [`${at}:new:moved`, `${at}:new:later`, `${at}:new:gone`, `${at}:elsewhere:moved`];
    const promotions = { later: TO_NEW, moved: { from: 'old', to: 'busy' } };
    const { text } = await statusOf(['new'], temporalWith({ promoting, silent: true }), promotions);
    expect(text.match(/^\w+: .*\n.*/gm)).toEqual([
      expect.stringMatching(/^later: old → new\n/),
      'moved: old → new\n  running  no worker answers',
      'gone: ? → new\n  running  no worker answers',
    ]);
  });

  it('says why a release reports no progress, also in JSON', async () => {
    const why = 'no worker reports its progress; see why: slipway doctor';
    expect((await statusOf(['busy'])).text).toContain(why);
    const { events } = await statusOf(['busy', 'new'], temporalWith(), {}, true);
    expect(events.map(({ target, whyNoProgress }) => ({ target, whyNoProgress }))).toEqual([
      { target: 'busy', whyNoProgress: why },
      { target: 'new' },
    ]);
  });
});
