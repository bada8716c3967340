import { describe, expect, it } from 'vitest';

import { normalizeServiceUrl, targetWorkflowId } from '../../src/domain/targetSpec.ts';

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

  it('is the same for all addresses of a control plane that is named by its id', () => {
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

  it('differs by tenant where one is named, since names are unique within a tenant', () => {
    const [one, other] = ['1b9e2f7c-7d5e-4f4e-8a53-111111111111', '1b9e2f7c-7d5e-4f4e-8a53-222222222222'];
    const target = { controlPlane: 'https://control.test', deployment: 'agent' };
    expect(targetWorkflowId({ ...target, tenantId: one })).toBe(`target:https://control.test:${one}:agent`);
    expect(targetWorkflowId({ ...target, tenantId: other })).not.toBe(
      targetWorkflowId({ ...target, tenantId: one }),
    );
  });

  it('keeps the case of a path', () => {
    expect(normalizeServiceUrl('http://Host:80/Api/V1/')).toBe('http://host/Api/V1');
  });
});
