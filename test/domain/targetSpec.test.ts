import { describe, expect, it } from 'vitest';

import { promotionWorkflowId } from '../../src/domain/promotion/promotion.ts';
import { normalizeServiceUrl, type TargetSpec, targetWorkflowId } from '../../src/domain/targetSpec.ts';

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

  it('is within that of a promotion to the target, with the tenant', () => {
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
