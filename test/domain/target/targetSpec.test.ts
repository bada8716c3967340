import { describe, expect, it } from 'vitest';

import { promotionWorkflowId } from '../../../src/domain/promotion/promotion.ts';
import {
  mayHaveKey,
  normalizeServiceUrl,
  type TargetSpec,
  targetWorkflowId,
} from '../../../src/domain/target/targetSpec.ts';

describe('a target’s workflow id', () => {
  it('is the same for two spellings of one control plane', () => {
    const spellings = [
      'https://control.test',
      'https://control.test/',
      'HTTPS://Control.Test:443//',
      'https://control.test/?a=1#b',
      'https://somebody:secret@control.test',
    ];
    const ids = spellings.map((controlPlane) => targetWorkflowId({ controlPlane, deployment: 'agent' }));
    expect(new Set(ids)).toEqual(new Set(['target:https://control.test:agent']));
  });

  it('is the same for every spelling of a loopback address, and for no other address', () => {
    const idOf = (controlPlane: string): string => targetWorkflowId({ controlPlane, deployment: 'agent' });
    const spellings = [
      'http://127.0.0.1:4700',
      'http://localhost:4700/',
      'HTTP://LocalHost.:4700',
      'http://[::1]:4700',
      'http://[::ffff:127.0.0.1]:4700',
      'http://0x7f.1:4700//',
    ];
    expect(new Set(spellings.map(idOf))).toEqual(new Set(['target:http://127.0.0.1:4700:agent']));
    expect(idOf('http://localhost:80')).toBe(idOf('http://127.0.0.1'));
    for (const other of ['http://127.0.0.2:4700', 'http://localhost:4701', 'http://localhost.test:4700']) {
      expect(idOf(other)).not.toBe('target:http://127.0.0.1:4700:agent');
    }
  });

  it('is the same for all addresses of a control plane with one controlPlaneId', () => {
    const named = ['https://eu.control.test', 'http://10.0.0.7:8080'].map((controlPlane) =>
      targetWorkflowId({ controlPlane, controlPlaneId: 'main', deployment: 'agent' }),
    );
    expect(named).toEqual(['target:main:agent', 'target:main:agent']);
  });

  it('differs by deployment, by port, by scheme and by path', () => {
    const ids = [
      ['https://control.test', 'agent'],
      ['https://control.test', 'other'],
      ['https://control.test:8443', 'agent'],
      ['http://control.test', 'agent'],
      ['https://control.test/eu', 'agent'],
    ].map(([controlPlane = '', deployment = '']) => targetWorkflowId({ controlPlane, deployment }));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('differs by tenant if one is given, because names are unique within a tenant', () => {
    const [one, other] = ['1b9e2f7c-7d5e-4f4e-8a53-111111111111', '1b9e2f7c-7d5e-4f4e-8a53-222222222222'];
    const target = { controlPlane: 'https://control.test', deployment: 'agent' };
    expect(targetWorkflowId({ ...target, tenantId: one })).toBe(`target:https://control.test:${one}:agent`);
    expect(targetWorkflowId({ ...target, tenantId: other })).not.toBe(
      targetWorkflowId({ ...target, tenantId: one }),
    );
  });

  it('is a part of the id of a promotion to the target, with the tenant', () => {
    const to = { controlPlane: 'https://Control.test/', deployment: 'agent' } as TargetSpec;
    const tenantId = '1b9e2f7c-7d5e-4f4e-8a53-111111111111';
    expect(promotionWorkflowId({ name: 'nightly', to })).toBe('promotion:https://control.test:agent:nightly');
    expect(promotionWorkflowId({ name: 'nightly', to: { ...to, tenantId } })).toBe(
      `promotion:https://control.test:${tenantId}:agent:nightly`,
    );
  });

  it('keeps the case of a path', () => {
    expect(normalizeServiceUrl('http://Host:80/Api/V1/')).toBe('http://host/Api/V1');
  });
});

describe("the control plane's key", () => {
  const target = {
    controlPlane: 'https://control.test/eu',
    agentUrl: 'https://agent.test/x',
    agentOrigins: ['https://one.test:8443', 'https://*.agents.test'],
  };

  it.each([
    ['https://control.test/agents/1', true],
    ['https://agent.test/other', true],
    ['https://one.test:8443/', true],
    ['https://a.b.agents.test/', true],
    ['https://agents.test/', false],
    ['https://evilagents.test/', false],
    ['http://a.agents.test/', false],
    ['https://one.test/', false],
    ['https://control.test:8443/', false],
    ['https://control.test.evil.test/', false],
  ])('may be sent to %s: %s', (url, may) => {
    expect(mayHaveKey(target, url)).toBe(may);
  });

  it('may be sent to every loopback name if the port is the same', () => {
    const local = { controlPlane: 'http://localhost:4700' };
    expect(
      ['127.0.0.1:4700', '[::1]:4700', '127.0.0.1:4701'].map((host) => mayHaveKey(local, `http://${host}`)),
    ).toEqual([true, true, false]);
  });
});
